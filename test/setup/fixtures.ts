// Sessions written by the real agents, packed per client: `<client>/<scenario>/…` with what was really said in expected.json.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { temporary } from './temporary.ts'

/** Where the packed sessions of a client are: in this repository, or in `shared` beside the checkout. */
export function agentArchive(client: string): string | undefined {
  const test = join(import.meta.dirname, '..')
  return [
    join(test, 'fixtures', 'agents', `${client}.tgz`),
    join(test, '..', '..', 'shared', 'real-agents', `${client}.tar.gz`),
  ].find((path) => existsSync(path))
}

/** Unpacks one client into a temporary directory (removed at exit) and returns the directory of its scenarios. */
export function unpackAgent(client: string): string {
  const archive = agentArchive(client)
  if (archive === undefined) throw new Error(`no sessions of ${client} are here`)
  const directory = temporary('agent')
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
