// What agents are about to delete of their own transcripts, and whether it is kept here. Looks at the files as they are now.

import { statSync } from 'node:fs'
import type { AnyAdapter, Environment } from '../adapters/adapter.ts'
import type { Integration } from '../adapters/integration.ts'
import { daysKept, isKeeper, type Keeper } from '../capture/keeping.ts'
import { formatBytes, plural } from '../figures.ts'
import { DAY } from '../model.ts'
import { discover, type Found } from '../sources/discover.ts'
import type { Reader } from '../store/reader/index.ts'
import { type Finding, finding } from './finding.ts'

export const WITHIN_DAYS = 7

/** Of one agent. What is too old already goes when it starts next. */
export interface Deletion {
  flavor: string
  agent: string
  /** How long it keeps transcripts. */
  keeps_days: number
  within_days: number
  sessions: number
  bytes: number
  /** When the first of them goes. */
  first_at: string
  /** Of the sessions: all of it is here; its digest is; it was not read, or not to its end. */
  kept: number
  digest_only: number
  unread: number
}

interface Context {
  env: Environment
  now: number
  adapters: readonly AnyAdapter[]
  integrations: readonly Integration[]
  handle: Reader | undefined
}

/** Of each agent that deletes anything within the week. */
export function comingDeletions(context: Context): Deletion[] {
  return context.integrations.filter(isKeeper).flatMap((agent) => {
    const adapters = context.adapters.filter((one) => one.flavor === agent.flavor)
    // Only where the agent itself looks: a copy elsewhere it does not know.
    const { found } = discover(adapters, context.env, {})
    return deletionOf(context, agent, found) ?? []
  })
}

function deletionOf(
  { env, now, handle }: Context,
  agent: Keeper,
  found: readonly Found[],
): Deletion | undefined {
  const days = daysKept(agent, env)
  const stateOf = handle ? stateReader(handle) : (): State => ({ session: null, state: 'unread' })
  const sessions = new Map<string, Kept>()
  let bytes = 0
  let first = Number.POSITIVE_INFINITY
  for (const { source } of found) {
    const stats = statSync(source.path, { throwIfNoEntry: false })
    if (!stats) continue
    const at = stats.mtimeMs + days * DAY
    if (at > now + WITHIN_DAYS * DAY) continue
    const { session, state } = stateOf(source.path, stats.size)
    const name = session ?? source.path
    sessions.set(name, worse(sessions.get(name), state))
    bytes += stats.size
    first = Math.min(first, at)
  }
  if (sessions.size === 0) return undefined
  const count = (kept: Kept): number => [...sessions.values()].filter((one) => one === kept).length
  return {
    flavor: agent.flavor,
    agent: agent.title,
    keeps_days: days,
    within_days: WITHIN_DAYS,
    sessions: sessions.size,
    bytes,
    first_at: new Date(Math.max(first, now)).toISOString(),
    kept: count('kept'),
    digest_only: count('digest_only'),
    unread: count('unread'),
  }
}

const ORDER = ['kept', 'digest_only', 'unread'] as const
type Kept = (typeof ORDER)[number]
interface State {
  session: string | null
  state: Kept
}

/** Of the files of a session the one that is worst off tells. */
const worse = (a: Kept = 'kept', b: Kept): Kept => (ORDER.indexOf(a) > ORDER.indexOf(b) ? a : b)

function stateReader(handle: Reader): (path: string, size: number) => State {
  return (path, size) => {
    const row = handle.sources.state(path)
    if (!row || row.size < size) return { session: row?.session ?? null, state: 'unread' }
    return { session: row.session, state: row.evictedSeq === 0 ? 'kept' : 'digest_only' }
  }
}

/** `12 sessions (3.4 MB) …: all are kept here`. */
export function deletionText(one: Deletion): string {
  const parts = [
    one.kept === one.sessions ? 'all are kept here' : one.kept > 0 ? `${one.kept} kept here` : '',
    one.digest_only > 0 ? `${one.digest_only} as a digest only` : '',
    one.unread > 0 ? `${one.unread} not kept: not read yet` : '',
  ]
  const what = `${plural(one.sessions, 'session')} (${formatBytes(one.bytes)})`
  return `${one.agent} deletes ${what} within ${one.within_days} days, from ${one.first_at.slice(0, 10)} on: ${parts.filter(Boolean).join(', ')}`
}

/** That an agent deletes at all is worth a word; what is not kept here, a warning. */
export function checkDeletions(context: Context): Finding[] {
  const coming = new Map(comingDeletions(context).map((one) => [one.flavor, one]))
  return context.integrations.filter(isKeeper).map((agent) => {
    const { flavor, title, keeps } = agent
    const days = daysKept(agent, context.env)
    const next = coming.get(flavor)
    const about = { subject: flavor, fix: 'recollect doctor --fix' }
    if (next && next.unread > 0)
      return finding('agent.deletes', 'warning', deletionText(next), {
        ...about,
        fix: 'recollect sweep, then recollect doctor --fix',
      })
    const text = next
      ? deletionText(next)
      : `${title} keeps transcripts for ${days} d after they were last written`
    return days >= keeps.proposedDays
      ? finding('agent.deletes', 'ok', text, { subject: flavor })
      : finding('agent.deletes', 'info', text, about)
  })
}
