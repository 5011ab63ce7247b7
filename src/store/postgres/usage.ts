// Tokens over a team: the same questions as of one machine's ledger (`reader/usage.ts`), with what fewer than five people did
// folded together, so that no figure is about few of them. Where the folded part is itself of too few, a part that could be
// shown is folded with it: otherwise it were the total less what is shown.
import { FEWEST_PEOPLE } from '../../contract.ts'
import { priceClasses } from '../reader/price-classes.ts'
import { keyExpression, type SlotQuestion, type SlotSum } from '../reader/usage.ts'
import { SLOT_MS } from '../slots.ts'
import type { Connection, Fleet } from './database.ts'

export const FOLDED = '(fewer than five people)'

export interface FleetUsage extends Omit<SlotQuestion, 'by' | 'filter'> {
  team: string
  by: 'day' | 'week' | 'month' | 'model' | 'repo' | 'domain' | 'flavor' | 'host' | 'team'
  sinceAt?: number | undefined
  untilAt?: number | undefined
}

function keyOf({ by, offsets }: FleetUsage): string {
  if (by === 'host') return 'u.host_name'
  if (by === 'team' || by === 'repo' || by === 'domain' || by === 'flavor') return `u.${by}`
  // A number also where nothing has a time.
  return by === 'model'
    ? keyExpression({ by, offsets })
    : `(${keyExpression({ by: 'day', offsets })})::bigint`
}

/** What people are counted by, of a key: weeks begin on Monday, and the first day of all was a Thursday. */
function partOf(by: FleetUsage['by']): string {
  if (by === 'week') return '(key + 3) / 7'
  return by === 'month' ? "to_char(to_timestamp(key * 86400) AT TIME ZONE 'UTC', 'YYYY-MM')" : 'key'
}

function spanOf({ team, sinceAt, untilAt }: FleetUsage): { where: string; values: unknown[] } {
  const where = ['u.team = $1']
  const values: unknown[] = [team]
  const slot = (at: number): number => Math.floor(at / SLOT_MS)
  if (sinceAt !== undefined) where.push(`u.slot >= $${values.push(slot(sinceAt))}`)
  if (untilAt !== undefined) where.push(`u.slot < $${values.push(slot(untilAt))} AND u.slot >= 0`)
  return { where: where.join(' AND '), values }
}

const SLOTS = 'recollect.usage_slots u'

/** From one to the next by the index: not as many looks as there are sums. */
export async function usageModels(fleet: Fleet, team: string): Promise<string[]> {
  const { rows } = await fleet.inTeam(team, (connection) =>
    connection.query(
      `WITH RECURSIVE found AS (SELECT min(model) AS model FROM recollect.usage_slots WHERE team = $1
         UNION ALL SELECT (SELECT min(u.model) FROM recollect.usage_slots u WHERE u.team = $1 AND u.model > found.model)
         FROM found WHERE found.model IS NOT NULL)
       SELECT model FROM found WHERE model IS NOT NULL`,
      [team],
    ),
  )
  return rows.map((one) => one.model as string)
}

async function usageSpan(
  connection: Connection,
  team: string,
): Promise<{ firstSlot: number; lastSlot: number } | undefined> {
  const { rows } = await connection.query(
    // Two looks at the ends of an index, where a filter would read all of it.
    `SELECT (SELECT min(slot) FROM recollect.usage_slots WHERE team = $1 AND slot >= 0) AS first,
       (SELECT max(slot) FROM recollect.usage_slots WHERE team = $1) AS last`,
    [team],
  )
  return rows[0]?.first == null ? undefined : { firstSlot: rows[0].first, lastSlot: rows[0].last }
}

/** Few rows, however many sessions; undefined where all of it is of too few people. `offsetsIn` tells how far the zone's days are off. */
export async function usageSlots(
  fleet: Fleet,
  asked: Omit<FleetUsage, 'offsets'>,
  offsetsIn: (firstSlot: number, lastSlot: number) => FleetUsage['offsets'],
): Promise<SlotSum[] | undefined> {
  const { team, prices } = asked
  const slots = await fleet.inTeam(team, (connection) => usageSpan(connection, team))
  const question = { ...asked, offsets: slots ? offsetsIn(slots.firstSlot, slots.lastSlot) : [] }
  const { where, values } = spanOf(question)
  const part = `${partOf(question.by)} AS part, `
  // Beside each other. What was pushed in between is in the sums alone, and is not shown on its own.
  const [shown, rows] = await Promise.all([
    fleet.inTeam(team, (connection) => shownGroups(connection, question, where, values)),
    fleet.inTeam(team, (connection) =>
      summed(connection, prices, { key: keyOf(question), part, where, values }),
    ),
  ])
  return shown && rows.map(({ part: of, ...one }) => (shown.has(of as Part) ? one : { ...one, key: FOLDED }))
}

/** Of each session by itself: for a page that shows some. */
export const slotsBySession = (
  connection: Connection,
  { team, uids, prices }: { team: string; uids: readonly string[]; prices: SlotQuestion['prices'] },
): Promise<SlotSum[]> =>
  summed(connection, prices, {
    key: 'u.session_uid',
    part: '',
    where: 'u.team = $1 AND u.session_uid = ANY($2)',
    values: [team, uids],
  })

const SUMS =
  'responses reported input cache_read cache_write_5m cache_write_1h output reasoning reported_cost'.split(
    ' ',
  )

/** Apart by whatever their price hangs on. */
async function summed(
  connection: Connection,
  prices: SlotQuestion['prices'],
  { key, part, where, values }: { key: string; part: string; where: string; values: unknown[] },
): Promise<(SlotSum & { part?: unknown })[]> {
  const { period, quarter, over, named } = priceClasses(prices)
  let place = values.length
  const numbered = (expression: string): string => expression.replaceAll('?', () => `$${++place}`)
  const apart = [period, numbered(quarter), numbered(over)].filter((expression) => expression !== '0')
  const { rows } = await connection.query(
    `SELECT ${part}summed.* FROM (
       SELECT ${key} AS key, min(u.slot) AS slot, u.model, min(u.prompt_over) AS prompt_over,
         ${SUMS.map((name) => `sum(u.${name}) AS ${name}`).join(', ')}
       FROM ${SLOTS} WHERE ${where} GROUP BY ${['key', ...apart, 'u.model'].join(', ')}) summed`,
    [...values, ...named],
  )
  return rows.map((one) => ({
    ...(part === '' ? {} : { part: one.part }),
    key: one.key,
    slot: one.slot,
    model: one.model,
    promptOver: one.prompt_over,
    responses: one.responses,
    reported: one.reported,
    input: one.input,
    cacheRead: one.cache_read,
    cacheWrite5m: one.cache_write_5m,
    cacheWrite1h: one.cache_write_1h,
    output: one.output,
    reasoning: one.reasoning,
    reportedCost: one.reported_cost,
  }))
}

type Part = string | number | null

/** The parts that are shown on their own. */
async function shownGroups(
  connection: Connection,
  question: FleetUsage,
  where: string,
  values: unknown[],
): Promise<Set<Part> | undefined> {
  const { rows } = await connection.query(
    // First who did anything by key: few rows, where a count of who is distinct would sort all there are.
    `SELECT part, count(*) AS people FROM (SELECT DISTINCT ${partOf(question.by)} AS part, person FROM (
       SELECT DISTINCT ${keyOf(question)} AS key, u.person FROM ${SLOTS} WHERE ${where}) did) each_one GROUP BY part ORDER BY people, part`,
    values,
  )
  const few = rows.filter((one) => one.people < FEWEST_PEOPLE).length
  if (few === rows.length && few > 0 && (await peopleIn(connection, where, values)) < FEWEST_PEOPLE)
    return undefined
  // As many as its largest part has at least; one more part makes it as many as that has.
  return new Set(rows.slice(few === 0 ? 0 : few + 1).map((one) => one.part as Part))
}

async function peopleIn(connection: Connection, where: string, values: unknown[]): Promise<number> {
  const { rows } = await connection.query(
    `SELECT count(DISTINCT u.person) AS people FROM ${SLOTS} WHERE ${where}`,
    values,
  )
  return rows[0].people as number
}
