// `recollect statusline`: one line for the foot of an agent's screen, from what the agent says of itself on stdin and what is
// remembered. How allowances stand is told nowhere else, so it is kept. Without stdin: the same of the memory alone.
import { fstatSync, readFileSync } from 'node:fs'
import { Config } from '../config.ts'
import { RecollectError } from '../errors.ts'
import { isoTime } from '../model.ts'
import { type LimitRow, limitsReport } from '../query/limits.ts'
import { pricesFor } from '../query/prices.ts'
import { budgetState, type Spending, spendingOf } from '../query/spending.ts'
import { openNotes } from '../store/notes.ts'
import type { Reader } from '../store/reader/index.ts'
import { openMemory, storePaths } from '../store/reading.ts'
import { SLOT_MS } from '../store/slots.ts'
import { shortUsd, unitsOf } from '../usage/money.ts'
import { overridesOf } from '../usage/overrides.ts'
import { print, printJson } from './print.ts'
import { oneLine } from './text.ts'

/** What an agent says to a line of this kind; all of it may be missing. */
interface Said {
  session_id?: unknown
  model?: { display_name?: unknown }
  cost?: { total_cost_usd?: unknown }
  rate_limits?: Record<string, { used_percentage?: unknown; resets_at?: unknown } | null>
}

interface Limit {
  name: string
  used_percent: number
  resets_at: number | null
}

export async function showStatusline(options: { json?: boolean }): Promise<void> {
  const said = readSaid()
  const limits = limitsIn(said)
  const config = new Config()
  const known = await remembered(config, said, limits)
  const reported = said?.cost?.total_cost_usd
  const reportedUsd = typeof reported === 'number' && reported >= 0 ? reported.toFixed(4) : null
  const told = limits.length > 0 ? limits.map(shownLimit) : known.limits
  const document = {
    session_uid: known.uid ?? null,
    session_usd: known.session_usd,
    reported_usd: reportedUsd,
    today_usd: known.today_usd,
    limits: told,
    budget:
      budgetState(known, { daily: config.get('budget.daily'), session: config.get('budget.session') }) ??
      null,
  }
  if (options.json) printJson(document)
  else print(lineOf(document, said))
}

type Document = Omit<Spending, never> & {
  reported_usd: string | null
  limits: ShownLimit[]
  budget: ReturnType<typeof budgetState> | null
}

function lineOf(
  { session_usd, reported_usd, today_usd, limits, budget }: Document,
  said: Said | undefined,
): string {
  const money = (usd: string): string => shortUsd(unitsOf(usd))
  // Before the first sweep of a session only the agent knows what it cost.
  const session = session_usd ?? reported_usd
  const model = said?.model?.display_name
  const parts = [
    typeof model === 'string' ? oneLine(model).slice(0, 40) : undefined,
    said && session !== null ? `${money(session)} session` : undefined,
    today_usd === null ? undefined : `${money(today_usd)} today`,
    ...limits.map(({ name, used_percent }) => `${name} ${used_percent}%`),
    budget ? `${budget.is_over ? 'over' : 'nearly'} ${money(budget.limit_usd)} ${budget.of}` : undefined,
  ]
  return parts.filter(Boolean).join(' · ') || 'recollect: nothing remembered today'
}

const MAX_INPUT = 1 << 20

/** Undefined where nobody says anything. */
function readSaid(): Said | undefined {
  const stats = fstatSync(0)
  if (!stats.isFIFO() && !stats.isFile() && !stats.isSocket()) return undefined
  const text = readFileSync(0, 'utf8').slice(0, MAX_INPUT)
  if (text.trim() === '') return undefined
  try {
    const said: unknown = JSON.parse(text)
    if (typeof said === 'object' && said !== null && !Array.isArray(said)) return said as Said
  } catch (cause) {
    throw badInput(cause)
  }
  throw badInput()
}

const badInput = (cause?: unknown): RecollectError =>
  new RecollectError('BAD_INPUT', 'stdin is not the JSON object that an agent gives a status line', {
    where: 'stdin',
    hint: 'let the agent run it, or run it without stdin: recollect statusline < /dev/null',
    ...(cause === undefined ? {} : { cause }),
  })

const WINDOWS: Record<string, [short: string, minutes: number]> = {
  five_hour: ['5h', 300],
  seven_day: ['7d', 10_080],
}

/** More was never used of anything, and no clock goes further: what is kept is shown for weeks. */
const MOST_PERCENT = 1e6
const LAST_SECOND = Date.UTC(9999, 11, 31) / 1000

function limitsIn(said: Said | undefined): Limit[] {
  return Object.entries(Object(said?.rate_limits) as NonNullable<Said['rate_limits']>).flatMap(
    ([name, one]) => {
      const used = one?.used_percentage
      const resets = one?.resets_at
      if (typeof used !== 'number' || used < 0 || used > MOST_PERCENT || !/^\w{1,40}$/.test(name)) return []
      return [
        {
          name,
          used_percent: Math.round(used * 10) / 10,
          resets_at: typeof resets === 'number' && resets > 0 && resets < LAST_SECOND ? resets * 1000 : null,
        },
      ]
    },
  )
}

interface ShownLimit {
  name: string
  used_percent: number
  resets_at: string | null
}

const shownLimit = ({ name, used_percent, resets_at }: Limit): ShownLimit => ({
  name: WINDOWS[name]?.[0] ?? name,
  used_percent,
  resets_at: isoTime(resets_at),
})

interface Remembered extends Spending {
  uid?: string
  limits: ShownLimit[]
}

/** On a machine without a memory the agent's own figures are still right. */
async function remembered(
  config: Config,
  said: Said | undefined,
  limits: readonly Limit[],
): Promise<Remembered> {
  const paths = storePaths(config.home, config.get('store.db_path'))
  let handle: Reader & { close(): void }
  try {
    handle = openMemory(paths)
  } catch (error) {
    if ((error as Partial<RecollectError>).code !== 'NO_MEMORY') throw error
    return { session_usd: null, today_usd: null, limits: [] }
  }
  try {
    const id = said?.session_id
    const uid = typeof id === 'string' ? handle.sessions.exactly(id) : undefined
    const spending = spendingOf(handle, await pricesFor(handle, overridesOf(config)), uid)
    if (uid !== undefined) keep(handle, paths, uid, limits)
    return {
      ...spending,
      ...(uid === undefined ? {} : { uid }),
      limits: limits.length > 0 ? [] : lastTold(handle),
    }
  } finally {
    handle.close()
  }
}

/** Once in a quarter of an hour, and when it changed: the line is drawn many times a minute. */
function keep(
  handle: Reader,
  paths: Parameters<typeof openNotes>[0],
  uid: string,
  limits: readonly Limit[],
): void {
  const now = Date.now()
  const since = Math.floor(now / SLOT_MS) * SLOT_MS
  const known = handle.usage
    .limits(since, Number.MAX_SAFE_INTEGER, null)
    .filter((one) => one.session_uid === uid)
  const news = limits.filter(
    ({ name, used_percent }) => !known.some((one) => one.name === name && one.used_percent === used_percent),
  )
  if (news.length === 0) return
  const notes = openNotes(paths)
  try {
    notes.keepLimits(
      news.map(({ name, used_percent, resets_at }) => ({
        sessionUid: uid,
        name,
        at: now,
        usedPercent: used_percent,
        left: null,
        windowMinutes: WINDOWS[name]?.[1] ?? null,
        resetsAt: resets_at,
        plan: null,
      })),
    )
  } finally {
    notes.close()
  }
}

const RECENT_MS = 24 * 3_600_000

/** Windows that still run, as agents were told within a day. */
const lastTold = (handle: Reader): ShownLimit[] =>
  limitsReport(handle, { sinceAt: Date.now() - RECENT_MS })
    .limits.filter(
      (one): one is LimitRow & { used_percent: number } => !one.is_over && one.used_percent !== null,
    )
    .map(({ flavor, limit, used_percent, resets_at }) => ({
      name: `${flavor} ${limit}`,
      used_percent,
      resets_at,
    }))
