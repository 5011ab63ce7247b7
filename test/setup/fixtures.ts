// Sessions written by the real agents, packed per client: `<client>/<scenario>/…` with what was really said in expected.json.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { temporary } from './temporary.ts'

/** Unpacks one client into a temporary directory (removed at exit) and returns the directory of its scenarios. */
export function unpackAgent(client: string): string {
  const directory = temporary('agent')
  const archive = join(import.meta.dirname, '..', 'fixtures', 'agents', `${client}.tgz`)
  execFileSync('tar', ['-xzf', archive, '-C', directory])
  return join(directory, client)
}

/** A memory that an earlier program made, by the schemas of its memory.db and cache.db, of sources that are not there. */
export function unpackMemory(name: string): string {
  const directory = temporary('memory')
  execFileSync('tar', [
    '-xzf',
    join(import.meta.dirname, '..', 'fixtures', 'memories', `${name}.tgz`),
    '-C',
    directory,
  ])
  return directory
}
