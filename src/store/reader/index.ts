// The questions a memory answers, grouped by what they are about. Each takes plain values and gives plain values, so that
// another engine can answer them: what is asked stands here, how SQLite answers it in the files beside.
import { type Databases, putBehind } from '../databases.ts'
import type { ScanQuestion } from '../scan.ts'
import type { Candidate } from './candidates.ts'
import { coverageQuestions } from './coverage.ts'
import { digestQuestions } from './digests.ts'
import { eventQuestions } from './events.ts'
import { lineageQuestions } from './lineage.ts'
import { searchQuestions } from './search.ts'
import { sessionQuestions } from './sessions.ts'
import { sourceQuestions } from './sources.ts'
import { storageQuestions } from './storage.ts'
import { usageQuestions } from './usage.ts'

const QUESTIONS = {
  sessions: sessionQuestions,
  events: eventQuestions,
  search: searchQuestions,
  usage: usageQuestions,
  lineage: lineageQuestions,
  digests: digestQuestions,
  coverage: coverageQuestions,
  sources: sourceQuestions,
  storage: storageQuestions,
}

type Group = Record<string, (databases: Databases, ...given: never[]) => unknown>

type Asked<G extends Group> = {
  readonly [Name in keyof G]: G[Name] extends (databases: Databases, ...given: infer Given) => infer Answer
    ? (...given: Given) => Answer
    : never
}

type Questions = { readonly [Name in keyof typeof QUESTIONS]: Asked<(typeof QUESTIONS)[Name]> }

/** What a memory can be asked. */
export interface Reader extends Questions {
  /** The redacted body behind a `payload_ref`; undefined when it was evicted, or is lost or damaged. */
  payload(ref: string): string | undefined
  /** Reads bodies one after another, and gives the events whose body holds what is asked for, of the newest sessions first. */
  scan(question: ScanQuestion): AsyncGenerator<Candidate>
}

export function readerOf(databases: Databases, { payload, scan }: Pick<Reader, 'payload' | 'scan'>): Reader {
  const groups = Object.entries(QUESTIONS).map(([name, group]) => [name, asked(group, databases)])
  return putBehind({ ...(Object.fromEntries(groups) as Questions), payload, scan }, databases)
}

const asked = <G extends Group>(group: G, databases: Databases): Asked<G> =>
  Object.fromEntries(
    Object.entries(group).map(([name, answer]) => [name, (...given: never[]) => answer(databases, ...given)]),
  ) as Asked<G>
