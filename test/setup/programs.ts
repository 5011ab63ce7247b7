// Which programs this machine has: a test that needs one skips by name where it is not.
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

export const isHere = (program: string): boolean =>
  (process.env['PATH'] ?? '').split(delimiter).some((directory) => existsSync(join(directory, program)))
