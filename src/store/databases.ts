// The two databases behind a memory. They stay inside store/ (test/00-rules.test.ts): everybody else asks the reader.
import type { Database } from './database.ts'

export interface Databases {
  /** Tier 2: what is remembered for good. */
  readonly memory: Database
  /** Tier 1: events, bodies and where reading goes on. */
  readonly cache: Database
}

const behind = new WeakMap<object, Databases>()

export function putBehind<T extends object>(reader: T, databases: Databases): T {
  behind.set(reader, databases)
  return reader
}

/** For the store's own modules, and for tests that look below it. */
export const databasesOf = (reader: object): Databases => behind.get(reader) as Databases
