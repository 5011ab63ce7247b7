// A memory in a temporary home: sweeps given directories of the real agents' files and hands out what was remembered.

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ADAPTERS } from '../../src/adapters/index.ts'
import { Config } from '../../src/config.ts'
import type { Digest } from '../../src/digest/digest.ts'
import { type Databases, databasesOf } from '../../src/store/databases.ts'
import type { Reader } from '../../src/store/reader/index.ts'
import { openForReading, storePaths } from '../../src/store/reading.ts'
import { openStore } from '../../src/store/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { sweep } from '../../src/sweep/index.ts'
import type { SweepReport } from '../../src/sweep/report.ts'
import { unpackAgent } from './fixtures.ts'
import { temporary } from './temporary.ts'

export class TestMemory {
  readonly home = temporary('memory')
  readonly paths = storePaths(this.home)

  constructor(roots: Record<string, string[]>, settings = '') {
    const sources = Object.entries(roots).map(
      ([flavor, list]) => `[sources.${flavor}]\nroots = ${JSON.stringify(list)}\n`,
    )
    writeFileSync(join(this.home, 'config.toml'), settings + sources.join(''))
  }

  sweep(signal?: AbortSignal): Promise<SweepReport> {
    const env = { RECOLLECT_HOME: this.home, HOME: join(this.home, 'nobody') }
    return sweep({ config: new Config({ env }), adapters: ADAPTERS, env, ...(signal ? { signal } : {}) })
  }

  /** With the databases behind it, for tests that look below the reader. */
  read<T>(work: (handle: Reader & Databases) => T): T {
    const handle = openForReading(this.paths)
    try {
      return work(Object.assign(handle, databasesOf(handle)))
    } finally {
      handle.close()
    }
  }

  write<T>(work: (store: Store) => T): T {
    const store = openStore(this.paths)
    try {
      return work(store)
    } finally {
      store.close()
    }
  }

  digests(): Map<string, Digest> {
    return this.read(({ memory }) => {
      const rows = memory.prepare('SELECT session_uid, digest FROM digests').all() as unknown as {
        session_uid: string
        digest: string
      }[]
      return new Map(rows.map((row) => [row.session_uid, JSON.parse(row.digest) as Digest]))
    })
  }

  remove(): void {
    rmSync(this.home, { recursive: true, force: true })
  }
}

const DATA = { claude: '.claude/projects', codex: '.codex', grok: '.grok/sessions' } as const

/** The directories of every scenario of the given packs, by flavor. */
export function agentRoots(clients: readonly string[]): {
  roots: Record<string, string[]>
  /** `client/scenario` to the uids of its sessions, in the order they were begun. */
  uids: Map<string, string[]>
} {
  const roots: Record<string, string[]> = {}
  const uids = new Map<string, string[]>()
  for (const client of clients) {
    const flavor = client.split('-')[0] as keyof typeof DATA
    const directory = unpackAgent(client)
    for (const scenario of readdirSync(directory)) {
      roots[flavor] = [...(roots[flavor] ?? []), join(directory, scenario, DATA[flavor])]
      const expected = JSON.parse(readFileSync(join(directory, scenario, 'expected.json'), 'utf8')) as {
        invocations: { session_id: string | null }[]
      }
      const ids = expected.invocations.flatMap((one) =>
        one.session_id ? [`${flavor}:${one.session_id}`] : [],
      )
      uids.set(`${client}/${scenario}`, [...new Set(ids)])
    }
  }
  return { roots, uids }
}
