import { createServer } from 'node:http'
import { it } from 'vitest'

it('leaves a server listening', async () => {
  await new Promise<void>((done) => createServer().listen(0, '127.0.0.1', done))
})
