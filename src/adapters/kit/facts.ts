// What is known of a session as a whole: facts, tokens, and where it came from.
import type { Tokens } from '../../model.ts'
import type { EdgeItem, SessionItem, UsageItem } from '../adapter.ts'
import type { Thread } from './thread.ts'

type Facts = Omit<SessionItem, 'type' | 'session'>

/** What is new of the facts, as one item; none where nothing is. Of `startedAt` and `cwd` the first one told holds. */
export function factsItems(
  thread: Thread,
  facts: { [Name in keyof Facts]?: Facts[Name] | undefined },
): SessionItem[] {
  const told = thread.told as Record<string, unknown>
  const news = Object.entries(facts).filter(
    ([name, value]) =>
      value !== undefined && value !== '' && !(told[name] === value || (FIRST.has(name) && name in told)),
  )
  if (news.length === 0) return []
  Object.assign(told, Object.fromEntries(news))
  return [{ type: 'session', session: thread.session, ...Object.fromEntries(news) }]
}

const FIRST = new Set(['startedAt', 'cwd'])

type Usage = Pick<UsageItem, 'id' | 'ts'> & {
  [Name in keyof UsageItem]?: UsageItem[Name] | undefined
} & {
  /** What the agent says that it cost. Zero is what a model has whose price it does not know. */
  usd?: number | undefined
}

/** The tokens of a response. `id` is the provider's name of it, or one that is equal in every copy. */
export function usageItem(thread: Thread, tokens: Tokens, { usd = 0, ...usage }: Usage): UsageItem {
  const told = Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== undefined))
  const cost = usd > 0 ? { reportedCost: Math.round(usd * 1e8) } : {}
  return {
    ...{ type: 'usage', session: thread.session, model: null, scope: 'response', ...tokens },
    ...(told as Pick<UsageItem, 'id' | 'ts'>),
    ...cost,
  }
}

/** The same, where zeros say that nobody knows. */
export const usageItems = (thread: Thread, tokens: Tokens, usage: Usage): UsageItem[] =>
  Object.values(tokens).every((count) => count === 0) ? [] : [usageItem(thread, tokens, usage)]

/** How a session came from another; `evidence` is the call, or the key of the event, that shows it. */
export const edgeItem = (
  kind: EdgeItem['kind'],
  session: string,
  parent: string | null,
  at: number | null,
  evidence?: string,
): EdgeItem => ({ type: 'edge', kind, session, parent, at, ...(evidence !== undefined && { evidence }) })
