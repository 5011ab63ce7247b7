// A home with agents' files in it and a memory beside it, for tests that sweep for real.

import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ADAPTERS } from '../../src/adapters/index.ts'
import { Config } from '../../src/config.ts'
import { type Databases, databasesOf } from '../../src/store/databases.ts'
import type { Reader } from '../../src/store/reader/index.ts'
import { openForReading, type StorePaths, storePaths } from '../../src/store/reading.ts'
import { openStore } from '../../src/store/sqlite.ts'
import type { VerifyReport } from '../../src/store/store.ts'
import { type SweepOptions, sweep } from '../../src/sweep/index.ts'
import type { SweepReport } from '../../src/sweep/report.ts'
import { type Dump, dumpStore } from './dump.ts'
import { temporary } from './temporary.ts'

export { temporary }

/** A person's home directory and the memory made of it. */
export class World {
  readonly base: string
  readonly home: string
  readonly memory: string
  readonly env: Record<string, string>

  constructor(home?: string, base = temporary('sweep')) {
    this.base = base
    this.home = home ?? join(this.base, 'home')
    this.memory = join(this.base, 'memory')
    mkdirSync(this.home, { recursive: true })
    // The same key everywhere: two memories of the same files are then equal, markers included.
    mkdirSync(this.memory, { mode: 0o700 })
    writeFileSync(join(this.memory, 'redaction.key'), Buffer.alloc(32, 7), { mode: 0o600 })
    this.env = { HOME: this.home, RECOLLECT_HOME: this.memory }
  }

  /** More settings, as in config.toml. */
  configure(toml: string): void {
    writeFileSync(join(this.memory, 'config.toml'), toml)
  }

  get paths(): StorePaths {
    return storePaths(this.memory)
  }

  async sweep(options: Partial<SweepOptions> = {}): Promise<SweepReport> {
    return await sweep({
      config: new Config({ env: this.env }),
      adapters: ADAPTERS,
      env: this.env,
      ...options,
    })
  }

  dump(): Dump {
    return dumpStore(this.paths, this.base)
  }

  verify(): VerifyReport {
    const store = openStore(this.paths)
    try {
      return store.archive.verify()
    } finally {
      store.close()
    }
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

  remove(): void {
    rmSync(this.base, { recursive: true, force: true })
  }
}

const CLI = resolve(import.meta.dirname, '..', '..', 'dist', 'cli.cjs')

export interface CliResult {
  code: number
  stdout: string
  stderr: string
}

/** Runs the built program; never throws for its exit code. */
export function cli(env: Record<string, string>, ...args: string[]): CliResult {
  const { status, stdout, stderr, error } = spawnSync(process.execPath, [CLI, ...args], {
    env: { PATH: process.env['PATH'] ?? '', LANG: 'C.UTF-8', ...env },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 1 << 30,
  })
  if (error) throw error
  return { code: status ?? -1, stdout, stderr }
}

export const cliPath = CLI

/** Every scenario of the packed clients with a home of its own: `<client>/<scenario>`. */
export const scenariosIn = (directory: string): string[] => readdirSync(directory).sort()

export function copyTree(from: string, to: string): void {
  if (existsSync(from)) cpSync(from, to, { recursive: true, preserveTimestamps: true })
}
