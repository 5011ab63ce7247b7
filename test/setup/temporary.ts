// Directories for the time of a test file: removed when its process ends. One listener, however many there are.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const made: string[] = []
process.once('exit', () => {
  for (const directory of made) rmSync(directory, { recursive: true, force: true })
})

export function temporary(name: string): string {
  const directory = mkdtempSync(join(tmpdir(), `recollect-${name}-`))
  made.push(directory)
  return directory
}
