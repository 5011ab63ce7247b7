// What the small files say of a session as a whole: summary.json, usage.json, the notes on sub-agents, and
// prompt_history.jsonl, which lies beside the sessions of one working directory.

import { existsSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { RecollectError } from '../../errors.ts'
import { readJsonl } from '../../files/jsonl.ts'
import type { GapItem, Item, SessionItem, UsageItem } from '../adapter.ts'
import { remember } from '../kit/bounded.ts'
import { edgeItem } from '../kit/facts.ts'
import { isRecord, list, num, str, time } from '../kit/guards.ts'
import { MAX_LINE_BYTES, MAX_VALUES } from '../kit/lines.ts'
import { disjointTokens, tokenCount } from '../kit/tokens.ts'
import type { Answers } from './answers.ts'
import { decodedCwd, metaFiles, type SessionFiles } from './paths.ts'
import { readable, readJson } from './small.ts'
import type { Origin, State } from './state.ts'

/** What the parsers need to know of the session they read. */
export interface Session extends Origin {
  id: string
  files: SessionFiles
}

export interface Facts {
  session: Session
  items: Item[]
}

/** `known` is what an earlier read learned: it holds while the summary is broken or gone. */
export function readFacts(files: SessionFiles, known: Origin | null): Facts {
  const gaps: GapItem[] = []
  const summary = readJson(files.summary, gaps)
  const origin = summary ? originOf(summary) : (known ?? originOf({}))
  const session: Session = { ...origin, id: files.session, files }
  const items: Item[] = [factsItem(session, summary), ...gaps]
  const kind = session.isSubagent ? 'subagent' : 'interactive_fork'
  if (session.parent) items.push(edgeItem(kind, session.id, session.parent, session.forkedAt))
  return { session, items }
}

function originOf(summary: Record<string, unknown>): Origin {
  const parent = str(summary['parent_session_id']) || null
  const kind = str(summary['session_kind']) ?? ''
  return {
    parent,
    forkedAt: parent ? time(summary['forked_at']) : null,
    inheritedCount: num(summary['inherited_prefix_len']) ?? 0,
    isSubagent: kind.startsWith('subagent'),
    isFork: parent !== null || kind === 'fork',
  }
}

function factsItem(session: Session, read: Record<string, unknown> | undefined): SessionItem {
  const summary = read ?? {}
  const info = isRecord(summary['info']) ? summary['info'] : {}
  const item: SessionItem = { type: 'session', session: session.id }
  const set = <Name extends keyof SessionItem>(name: Name, value: SessionItem[Name] | null): void => {
    if (value !== undefined && value !== null && value !== '') item[name] = value
  }
  // The directory keeps its name when a session moves; the summary follows it.
  set('cwd', str(info['cwd']) || decodedCwd(session.files) || namedCwd(session.files))
  set('gitBranch', str(summary['head_branch']))
  set('gitRemote', firstRemote(summary['git_remotes']))
  set('model', str(summary['current_model_id']))
  set('title', str(summary['generated_title']) || str(summary['session_summary']))
  set('titleByPerson', summary['title_is_manual'] === true ? true : undefined)
  set('startedAt', time(summary['created_at']))
  const isHidden = session.isSubagent || summary['hidden'] === true
  if (read) set('relation', isHidden ? 'subagent' : session.isFork ? 'fork' : 'main')
  return item
}

/** A name that is a hash has the real one beside it. */
function namedCwd(files: SessionFiles): string | undefined {
  return readable(files.cwdName, 1 << 16)
    ?.bytes.toString('utf8')
    .trim()
}

function firstRemote(remotes: unknown): string | undefined {
  const first = list(remotes)[0]
  return str(first) ?? (isRecord(first) ? (str(first['url']) ?? str(first['fetch_url'])) : undefined)
}

/** When a sub-agent began, by the notes on it; undefined where there are none yet. */
export function notedStart(session: Session, child: string): number | null | undefined {
  const path = metaFiles(session.files).find((one) => basename(dirname(one)) === child)
  const meta = path === undefined ? undefined : readJson(path, [])
  return meta && time(meta['started_at'])
}

/** A child's own files do not name its parent: only the parent's notes do. */
export function* subagentEdges(session: Session, state: State): Generator<Item> {
  const gaps: GapItem[] = []
  for (const path of metaFiles(session.files)) {
    const meta = readJson(path, gaps)
    const child = str(meta?.['child_session_id']) ?? str(meta?.['subagent_id'])
    if (!meta || !child || state.children.includes(child)) continue
    remember(state.children, child, 256)
    const parent = str(meta['parent_session_id']) || session.id
    yield edgeItem('subagent', child, parent, time(meta['started_at']))
  }
  yield* gaps
}

/** When a turn ended, and the event that shows its tokens. */
interface TurnPlace {
  ts: number | null
  event: string | undefined
}

/**
 * The usage of one prompt, split by model where several took part. Cached tokens are inside `inputTokens` here.
 * A ten-billionth of a dollar is a tick; a cost that the agent calls partial is not taken.
 */
export function usageItems(
  session: Session,
  id: string,
  place: TurnPlace,
  usage: unknown,
  promptModel: string | null = null,
): UsageItem[] {
  // A turn that was stopped before any answer came is told as incomplete, with nothing in it.
  if (!isRecord(usage) || (tokenCount(usage['inputTokens']) === 0 && tokenCount(usage['outputTokens']) === 0))
    return []
  const models = isRecord(usage['modelUsage']) ? Object.entries(usage['modelUsage']) : []
  const parts = models.filter((entry): entry is [string, Record<string, unknown>] => isRecord(entry[1]))
  const primary = str(usage['primaryModelId']) ?? parts[0]?.[0] ?? promptModel
  const sum = (name: string): number => parts.reduce((total, [, part]) => total + tokenCount(part[name]), 0)
  const agree = ['inputTokens', 'outputTokens', 'cachedReadTokens'].every(
    (name) => sum(name) === tokenCount(usage[name]),
  )
  if (parts.length < 2 || !agree) return [usageItem(session, id, place, primary, usage, usage)]
  return parts.map(([model, part], at) =>
    usageItem(session, `${id}:${model}`, place, model, part, 'costUsdTicks' in part || at > 0 ? part : usage),
  )
}

function usageItem(
  session: Session,
  id: string,
  { ts, event }: TurnPlace,
  model: string | null,
  usage: Record<string, unknown>,
  cost: Record<string, unknown>,
): UsageItem {
  const item: UsageItem = {
    type: 'usage',
    session: session.id,
    id,
    ts,
    model,
    ...disjointTokens(
      {
        input: usage['inputTokens'],
        cacheRead: usage['cachedReadTokens'],
        cacheWrite: usage['cacheCreationTokens'],
        output: usage['outputTokens'],
        reasoning: usage['reasoningTokens'],
      },
      { inputHasCache: true },
    ),
    scope: 'turn',
  }
  if (event !== undefined) item.event = event
  if (session.isSubagent) item.nested = true
  const ticks = num(cost['costUsdTicks'])
  const whole = cost['costIsPartial'] !== true && cost['usageIsIncomplete'] !== true
  if (ticks !== undefined && ticks >= 0 && whole) item.reportedCost = Math.round(ticks / 100)
  return item
}

/** For sessions without updates.jsonl. A turn has no id there, but its end is told to the nanosecond and copied as it is. */
export function* usageFileItems(session: Session, answers: Answers): Generator<Item> {
  const gaps: GapItem[] = []
  let before = Number.NEGATIVE_INFINITY
  for (const turn of list(readJson(session.files.usage, gaps)?.['turns'])) {
    const endedAt = isRecord(turn) ? str(turn['endedAt']) : undefined
    if (!endedAt) continue
    const ts = time(endedAt)
    const event = ts === null ? undefined : answers.lastOf(before, ts)
    yield* usageItems(session, `turn@${endedAt}`, { ts, event }, turn)
    before = ts ?? before
  }
  yield* gaps
}

export interface HistoryPrompt {
  at: number
  stamp: string
  prompt: string
  isBash: boolean
}

/** The prompts that prompt_history.jsonl has of this session. */
export function promptHistory(session: Session): HistoryPrompt[] {
  if (!existsSync(session.files.promptHistory)) return []
  try {
    return promptsOf(session)
  } catch (error) {
    // It belongs to all sessions of a working directory; that one of them cannot use it is no loss of its own.
    if (error instanceof RecollectError) return []
    throw error
  }
}

function promptsOf(session: Session): HistoryPrompt[] {
  const found: HistoryPrompt[] = []
  const limits = { maxLineBytes: MAX_LINE_BYTES, maxValues: MAX_VALUES }
  for (const item of readJsonl(session.files.promptHistory, limits)) {
    if ('gap' in item || item.record['session_id'] !== session.id) continue
    const stamp = str(item.record['timestamp'])
    const prompt = str(item.record['prompt'])
    const at = time(stamp)
    if (stamp && prompt && at !== null)
      found.push({ at, stamp, prompt, isBash: item.record['is_bash'] === true })
  }
  return found
}
