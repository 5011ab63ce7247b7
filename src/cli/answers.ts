// Where a command gets its answer: from this machine's memory, or from the team server that `--server` names. Each command asks
// through one function of `Answers` and renders what comes. The memory's stands in the command's own file, the server's in
// team-answers.ts, which is loaded only then.
import type { Digest } from '../digest/digest.ts'
import { RecollectError } from '../errors.ts'
import type { Outcome } from '../model.ts'
import type { AnsweredSession, AnswerOptions } from '../query/answer.ts'
import type { Lineage } from '../query/lineage.ts'
import type { ListOptions } from '../query/sessions.ts'
import type { TreeCost } from '../query/tree-cost.ts'
import type { UsageQuestion, UsageReport } from '../query/usage.ts'
import type { RetroQuestion } from '../retro/index.ts'
import type { RetroDocument } from '../retro/sections.ts'

/** A session as a line of a list. */
export interface ListedSession {
  /** As people type it. */
  id: string
  /** What it is called. */
  what: string
  flavor: string
  repo: string | null
  /** Where sessions of several people are listed. */
  user?: string
  started_at: string | null
  ended_at: string | null
  outcome: Outcome
  isEvicted: boolean
  turns: number
  tokens: number
  /** Dollars as an exact decimal, where they were asked for. */
  usd?: string | null
  seconds: number
  errors: number
}

export const SESSION_ORDERS = ['recent', 'tokens', 'duration', 'errors', 'cost'] as const
export type SessionOrder = (typeof SESSION_ORDERS)[number]

export interface SessionList {
  /** As `--json` prints it. */
  document: { sessions: readonly object[] }
  lines: ListedSession[]
  /** What to tell where there may be more than was asked for. */
  rest?: string
}

export interface FoundSession
  extends Pick<AnsweredSession, 'evicted' | 'hits' | 'missing'>,
    Pick<ListedSession, 'id' | 'what' | 'flavor' | 'repo' | 'started_at'> {
  /** How many sessions of the same task hold it as well. */
  others: number
}

export interface Found {
  document: object
  /** Lines of hits that were to come from bodies that cannot be read. */
  unread: number
  /** How it was found, and what to ask next. */
  head: string[]
  sessions: FoundSession[]
  rest: string | undefined
}

export interface UsageAnswer {
  /** A team server tells no total of too few people. */
  report: Omit<UsageReport, 'total'> & { total: UsageReport['total'] | null }
  /** Sessions by the ids that people type, and what they were about. */
  names: ReadonlyMap<string, { id: string; title: string }>
}

/** A failure or signal that recurs. */
export interface ListedPattern {
  kind: string
  about: string
  count: number
  /** In how many sessions, of which repositories, … */
  where: string[]
  first_seen: string | null
  last_seen: string | null
  /** What to type, and what overcame it. */
  more: string[]
}

export interface Answers {
  /** `isPart`: a person is to be told how many more there are. */
  sessions(filter: ListOptions, order: SessionOrder, isPart: boolean): Promise<SessionList>
  search(query: string, options: AnswerOptions, flags: { limit?: string }): Promise<Found>
  usage(
    question: Omit<UsageQuestion, 'prices' | 'group'> & { group: string },
    isScreenful: boolean,
  ): Promise<UsageAnswer>
  patterns(filter: { sinceAt?: number; limit?: number }): Promise<{
    document: { patterns: readonly object[] }
    patterns: ListedPattern[]
    /** Said where there is none. */
    nothing: string
  }>
  digest(typed: string): Promise<{ digest: Digest; tree: TreeCost | null | undefined }>
  lineage(
    typed: string | undefined,
    filter: ListOptions,
  ): Promise<
    Lineage & {
      document: object
      ids: ReadonlyMap<string, string>
      asked: string | undefined
      /** False where nobody looked at prices. */
      isPriced: boolean
    }
  >
  retro(question: Omit<RetroQuestion, 'prices'>): Promise<{ report: object; document: RetroDocument }>
}

let chosen: string | undefined

/** What `--server` says, until the program is built anew. */
export function chooseServer(address: string | undefined): void {
  chosen = address
}

export async function answerFrom<K extends keyof Answers>(name: K, memory: Answers[K]): Promise<Answers[K]> {
  if (chosen === undefined) return memory
  const { teamAnswers } = await import('./team-answers.ts')
  return teamAnswers(chosen)[name]
}

/** Where the page of the server is that `--server` says; undefined for the one of a memory. */
export async function teamPage(): Promise<string | undefined> {
  if (chosen === undefined) return undefined
  const { pageOf } = await import('./team-answers.ts')
  return pageOf(chosen)
}

/** How a command is typed that asks the same. */
export const typedHere = (words: string): string =>
  chosen === undefined ? `recollect ${words}` : `recollect --server ${chosen} ${words}`

/** Behind "nothing is here", where a sweep could change that. */
export const sweepHint = (): string =>
  chosen === undefined ? '; recollect sweep reads what agents left' : ', of what you may see'

const ASKING = ['sessions', 'search', 'usage', 'patterns', 'digest', 'lineage', 'retro', 'ui']

/** Whether a command can be asked of a team server. */
export const isAsking = (command: string): boolean => ASKING.includes(command)

/** What needs a memory is not answered from it where a server was named. */
export function refuseServer(command: string, because = 'it needs the memory of one machine'): void {
  if (chosen === undefined || isAsking(command)) return
  throw notOfServer(`recollect ${command}`, because)
}

/** For what a memory can tell and a team server cannot. */
export const notOfServer = (what: string, because: string): RecollectError =>
  new RecollectError('USAGE', `a team server does not answer ${what}: ${because}`, {
    where: '--server',
    hint: `what it answers: ${ASKING.join(', ')}; without --server this machine's memory is asked`,
  })
