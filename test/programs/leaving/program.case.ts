import { spawn } from 'node:child_process'
import { it } from 'vitest'

it('leaves a program running', () => {
  // Not for ever: nobody stops it.
  spawn(process.execPath, ['-e', 'setTimeout(() => {}, 8000)'])
})
