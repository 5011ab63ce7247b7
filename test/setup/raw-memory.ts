// A memory in a directory of its own, filled by real sweeps over generated transcripts whose words are unique to each
// session, so that a search of the files shows what is left of one.

import { createHash } from 'node:crypto'
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { claude } from '../../src/adapters/claude/index.ts'
import { Config } from '../../src/config.ts'
import { type RetentionEvent, type RetentionReport, retain } from '../../src/retention/apply.ts'
import { policyOf } from '../../src/retention/policy.ts'
import { databasesOf } from '../../src/store/databases.ts'
import { storePaths } from '../../src/store/reading.ts'
import { openStore } from '../../src/store/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { type SweepOptions, sweep } from '../../src/sweep/index.ts'
import type { SweepReport } from '../../src/sweep/report.ts'
import { temporary } from './temporary.ts'

export interface MadeSession {
  uid: string
  path: string
  words: string[]
  lines: string[]
}

let serial = 0
const digest = (): Buffer => createHash('sha256').update(`word ${serial++}`).digest()
/** No two begin alike, so the index cannot shorten much of one by the one before. */
const newWord = (): string =>
  [...digest().subarray(0, 14)].map((byte) => String.fromCharCode(97 + (byte % 26))).join('')
const newUuid = (): string => {
  const hex = digest().toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Lines of a session, not written yet. `inherited` lines are copied in front, as a fork does. */
export function makeSession(home: string, turns: number, inherited: readonly string[] = []): MadeSession {
  const id = newUuid()
  const words: string[] = []
  const lines = inherited.map((line) => JSON.stringify({ ...JSON.parse(line), sessionId: id }))
  let parent: string | null = inherited.length > 0 ? JSON.parse(inherited.at(-1) as string).uuid : null
  const text = (count: number): string =>
    Array.from({ length: count }, (_, at) => {
      if (at % 3 === 2) return ['error', 'parse', 'file', 'the', 'test'][at % 5]
      words.push(newWord())
      return words.at(-1)
    }).join(' ')
  const add = (type: string, message: unknown): void => {
    const uuid = newUuid()
    const at = new Date(Date.UTC(2026, 8, 1) + serial * 100).toISOString()
    lines.push(
      JSON.stringify({
        parentUuid: parent,
        isSidechain: false,
        cwd: '/w',
        sessionId: id,
        version: '2.1.200',
        gitBranch: 'main',
        type,
        message,
        uuid,
        timestamp: at,
      }),
    )
    parent = uuid
  }
  const say = (block: unknown): void =>
    add('assistant', {
      id: `msg_${newUuid()}`,
      role: 'assistant',
      model: 'm',
      content: [block],
      usage: { input_tokens: 1, output_tokens: 2 },
    })
  for (let turn = 0; turn < turns; turn++) {
    add('user', { role: 'user', content: text(20) })
    say({ type: 'text', text: text(30) })
    const call = `t${serial}`
    say({ type: 'tool_use', id: call, name: 'Read', input: { file_path: `/w/${text(1)}/${text(1)}.ts` } })
    add('user', { role: 'user', content: [{ tool_use_id: call, type: 'tool_result', content: text(150) }] })
  }
  const directory = join(home, '.claude', 'projects', '-w')
  mkdirSync(directory, { recursive: true })
  return { uid: `claude:${id}`, path: join(directory, `${id}.jsonl`), words, lines }
}

export const writeLines = (made: MadeSession, from = 0, to = made.lines.length): void =>
  appendFileSync(
    made.path,
    made.lines
      .slice(from, to)
      .map((line) => `${line}\n`)
      .join(''),
  )

export class Memory {
  readonly root = temporary('retention')
  readonly home: string
  readonly env: Record<string, string>

  constructor(home?: string) {
    this.home = home ?? join(this.root, 'memory')
    mkdirSync(this.home, { recursive: true })
    this.env = { HOME: join(this.root, 'home'), RECOLLECT_HOME: this.home }
  }

  get cache(): string {
    return join(this.home, 'cache')
  }

  get config(): Config {
    return new Config({ env: this.env })
  }

  caps(settings: Record<string, string | number>): void {
    const lines = Object.entries(settings).map(([key, value]) => `${key} = ${JSON.stringify(value)}`)
    writeFileSync(join(this.home, 'config.toml'), `[session_memory.retention]\n${lines.join('\n')}\n`)
  }

  /** Sessions that came in over several sweeps, so that their rows lie among each other's. */
  async fill(count: number, turns: number, sweeps = 1): Promise<MadeSession[]> {
    const made = Array.from({ length: count }, () => makeSession(this.env['HOME'] as string, turns))
    for (let step = 0; step < sweeps; step++) {
      for (const one of made) {
        const size = Math.ceil(one.lines.length / sweeps)
        writeLines(one, step * size, (step + 1) * size)
      }
      await this.sweep()
    }
    this.unanalyze()
    return made
  }

  sweep(options: Partial<SweepOptions> = {}): Promise<SweepReport> {
    return sweep({ config: this.config, adapters: [claude], env: this.env, ...options })
  }

  with<T>(work: (store: Store) => T): T {
    const store = openStore(storePaths(this.home))
    try {
      return work(store)
    } finally {
      store.close()
    }
  }

  /** As if no digest had been written. */
  unanalyze(): void {
    this.with((store) => databasesOf(store.reader).memory.exec('UPDATE sessions SET analyzed_at = NULL'))
  }

  /** As if digests had been written, in the order given. */
  analyze(made: readonly { uid: string }[]): void {
    this.with((store) => {
      const set = databasesOf(store.reader).memory.prepare(
        // After all of them came in: on a busy machine that takes longer than one millisecond each.
        'UPDATE sessions SET analyzed_at = (SELECT max(ingested_at) FROM sessions) + ? WHERE session_uid = ?',
      )
      for (const [at, { uid }] of made.entries()) set.run(at, uid)
    })
  }

  async retain(
    options: {
      now?: number
      analyzeNow?: (uids: readonly string[]) => void
      onEvent?: (event: RetentionEvent) => void
      isAsked?: boolean
      lastSweepAt?: number
    } = {},
  ): Promise<RetentionReport> {
    const store = openStore(storePaths(this.home))
    try {
      return await retain({
        store,
        paths: storePaths(this.home),
        policy: policyOf(this.config),
        // As if there had been a sweep each day.
        lastSweepAt: options.now ?? Date.now(),
        ...options,
      })
    } finally {
      store.close()
    }
  }

  rows(sql: string, ...values: (string | number)[]): Record<string, unknown>[] {
    return this.with(
      (store) =>
        databasesOf(store.reader)
          .memory.prepare(sql)
          .all(...values) as unknown as Record<string, unknown>[],
    )
  }

  problems(): string[] {
    return this.with((store) => store.archive.verify().problems)
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true })
  }
}

/** Those of the words whose last nine letters stand anywhere in the files below a directory. */
export function wordsFound(directory: string, words: readonly string[]): string[] {
  const wanted = new Map(words.map((word) => [word.slice(5), word]))
  const found = new Set<string>()
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const text = readFileSync(join(entry.parentPath, entry.name)).toString('latin1')
    for (const run of text.matchAll(/[a-z]{9,}/g))
      for (let at = 0; at + 9 <= run[0].length; at++) {
        const word = wanted.get(run[0].slice(at, at + 9))
        if (word !== undefined) found.add(word)
      }
  }
  return [...found]
}
