// `recollect show`: one session as text, as a document, or as its redacted records.

import type { Config } from '../config.ts'
import { findDigest } from '../digest/patterns.ts'
import { RecollectError } from '../errors.ts'
import { linesOf } from '../event/body.ts'
import { toldDocument } from '../event/document.ts'
import type { EventKind, Session, SessionEvent } from '../model.ts'
import { type EventFilter, sessionEvents } from '../query/events.ts'
import { resolveEvent } from '../query/ids.ts'
import { rawLost } from '../query/lost.ts'
import { pricesFor } from '../query/prices.ts'
import { receiptsOf } from '../query/receipts.ts'
import { getSession } from '../query/sessions.ts'
import { transcript } from '../query/transcript.ts'
import { type SessionPrice, sessionPrice, treeOf } from '../query/tree-cost.ts'
import { unreadOf } from '../query/unread.ts'
import { Bodies } from '../store/bodies.ts'
import type { Reader } from '../store/reader/index.ts'
import { knownUsd } from '../usage/money.ts'
import { overridesOf } from '../usage/overrides.ts'
import { paint } from './colour.ts'
import { treeText } from './digest-text.ts'
import { formatDay, plural } from './format.ts'
import { drained, print, printFolded, write } from './print.ts'
import { headLines, type SessionHead } from './render-head.ts'
import { TextRenderer } from './render-text.ts'
import { oneLine } from './text.ts'
import { warnUnread } from './unread.ts'
import { parseChoice, parseCount, parseKinds } from './values.ts'
import { withMemory } from './with-memory.ts'

export const SHOW_FORMATS = ['text', 'md', 'html', 'json'] as const

export interface ShowCommand {
  format?: string
  json?: boolean
  payload?: boolean
  raw?: boolean
  kind?: string
  around?: string
  full?: boolean
  thinking?: boolean
}

interface Target {
  uid: string
  session: Session
  kinds: readonly EventKind[] | undefined
  /** The event that was asked for, and the places around it. */
  seq: number | undefined
  lastSeq: number | undefined
  range: EventFilter
  bodies: Bodies
}

export async function showSession(typed: string, options: ShowCommand): Promise<void> {
  const format = options.json
    ? 'json'
    : parseChoice(options.format ?? 'text', SHOW_FORMATS, '--format', 'format')
  refuseIdle(format, options)
  if (format === 'md' || format === 'html') return showWhole(typed, format, options)
  await withMemory(async (handle, config) => {
    const target = findTarget(handle, typed, options)
    const count = options.raw
      ? await printRaw(handle, target)
      : format === 'json'
        ? await printDocument(handle, target, options, config)
        : await printText(handle, target, options, config)
    if (target.seq !== undefined && count === 0) throw noSuchEvent(handle, target, typed)
    warnUnread(target.uid, target.bodies.unread.size, options.raw ? 'nothing' : undefined)
  })
}

/** An option that would change nothing was meant to change something. */
function refuseIdle(format: (typeof SHOW_FORMATS)[number], options: ShowCommand): void {
  if (options.payload && format !== 'json')
    throw new RecollectError('USAGE', '--payload goes with --json', {
      where: '--payload',
      hint: 'add --json, or leave it out: --full shows whole bodies as text, --raw the records',
    })
  if (options.raw && format === 'json')
    throw new RecollectError('USAGE', '--raw and --json print different things', {
      where: '--raw',
      hint: 'one of them: --json --payload is one document with every record, --raw the records, one per line',
    })
}

function noSuchEvent(handle: Reader, { uid, seq = 0 }: Target, typed: string): RecollectError {
  const lost = rawLost(handle, uid)
  const receipt = receiptsOf(handle, uid).find((one) => one.first_seq <= seq && seq <= one.last_seq)
  const kept = `recollect digest ${uid}`
  const say = (what: string, hint: string): RecollectError =>
    new RecollectError('NOT_FOUND', what, { where: typed, hint })
  if (lost) return say(lost.text, lost.source_exists ? 'recollect sweep' : kept)
  if (receipt) return say(`this event was evicted on ${formatDay(receipt.evicted_at)}`, kept)
  return say(`there is no such event in ${uid}`, `recollect show ${uid}`)
}

/** Pages to hand on are made by `export`, of whole sessions. */
async function showWhole(typed: string, format: 'md' | 'html', options: ShowCommand): Promise<void> {
  const isPart = typed.includes('#') || options.kind !== undefined || options.around !== undefined
  if (isPart || options.raw)
    throw new RecollectError('USAGE', `--format ${format} shows a whole session`, {
      where: typed,
      hint: 'leave out #SEQ, --around, --kind and --raw, or show it as text',
    })
  const { runExport } = await import('./export.ts')
  await runExport([typed], { format })
}

function findTarget(handle: Reader, typed: string, options: ShowCommand): Target {
  const kinds = options.kind === undefined ? undefined : parseKinds(options.kind)
  const { uid, seq, lastSeq } = resolveEvent(handle, typed)
  const around = options.around === undefined ? 0 : parseCount(options.around, '--around')
  if (options.around !== undefined && seq === undefined)
    throw new RecollectError('USAGE', '--around needs an event to be around', {
      where: typed,
      hint: `recollect show ${typed}#SEQ --around ${around}`,
    })
  const order = handle.events.order(uid)
  const [first, last] = [order.placeOf(seq ?? 0), order.placeOf(lastSeq ?? seq ?? 0)]
  return {
    uid,
    session: getSession(handle, uid) as Session,
    kinds,
    seq,
    lastSeq,
    range: seq === undefined ? {} : { fromPlace: Math.max(0, first - around), toPlace: last + around },
    bodies: new Bodies(handle),
  }
}

async function printText(
  handle: Reader,
  { uid, session, kinds, seq, lastSeq, range, bodies }: Target,
  options: ShowCommand,
  config: Config,
): Promise<number> {
  const isPart = kinds !== undefined || seq !== undefined
  const isOne = seq !== undefined && lastSeq === undefined && range.fromPlace === range.toPlace
  const renderer = new TextRenderer({
    full: options.full ?? isOne,
    thinking: options.thinking ?? false,
    ...(isOne ? { asked: seq } : {}),
    lifecycle: seq !== undefined || (kinds?.includes('lifecycle') ?? false),
    body: (event) => bodies.body(event.payload_ref),
  })
  const head: SessionHead = {
    session,
    digest: findDigest(handle, uid),
    cost: isPart ? undefined : costText(await costOf(handle, uid, config)),
    receipts: receiptsOf(handle, uid),
    gaps: handle.coverage.gapReasons(uid),
    lost: rawLost(handle, uid),
  }
  // The head waits for the first event: one that is not there is an error, and nothing else.
  let top: string[] = headLines(head)
  let count = 0
  for (const entry of transcript(handle, uid, { ...range, ...(kinds ? { kinds } : {}) })) {
    count++
    const lines = renderer.lines(entry)
    if (lines.length === 0) continue
    print([...top, ...(top.length > 0 && lines[0] !== '' ? [''] : []), ...lines].join('\n'))
    top = []
    await drained()
  }
  if (top.length > 0 && (count > 0 || seq === undefined)) print(top.join('\n'))
  else if (count === 0) return 0
  for (const line of footLines(renderer, head, isPart, bodies.unread.size)) printFolded(line)
  return count
}

/** What is not on the screen, and how to see it. Decisions outlive what they stood among. */
function footLines(
  { leftOut }: TextRenderer,
  { session, digest, lost }: SessionHead,
  isPart: boolean,
  unreadCount: number,
): string[] {
  const lines: string[] = []
  const unread = unreadOf(unreadCount)
  if (unread) lines.push(unread.text)
  if (!isPart && digest && (session.evicted_at || lost)) {
    lines.push(
      `asked      ${oneLine(digest.first_prompt)}`,
      `answered   ${oneLine(digest.last_assistant)}`,
      '',
    )
    if (!lost) lines.push(`its events were evicted; recollect digest ${session.session_uid} has the account`)
  }
  if (lost)
    lines.push(`${lost.text}: recollect ${lost.source_exists ? 'sweep' : `digest ${session.session_uid}`}`)
  if (leftOut.inherited > 0)
    lines.push(
      `${plural(leftOut.inherited, 'event')} inherited from another session: --full, recollect lineage`,
    )
  if (leftOut.folded > 0) lines.push(`${plural(leftOut.folded, 'line')} folded: --full`)
  if (leftOut.lifecycle > 0)
    lines.push(`${plural(leftOut.lifecycle, 'lifecycle record')} left out: --kind lifecycle`)
  return lines.length === 0 ? [] : ['', ...lines.map((line) => paint.dim(line))]
}

async function costOf(handle: Reader, uid: string, config: Config): Promise<SessionPrice> {
  return sessionPrice(handle, await pricesFor(handle, overridesOf(config), treeOf(handle, uid)), uid)
}

function costText({ cost_usd, unpriced_responses, tree }: SessionPrice): string | undefined {
  if (cost_usd === null) return undefined
  const missing = unpriced_responses > 0 ? `, ${plural(unpriced_responses, 'response')} without a price` : ''
  return `${knownUsd({ cost_usd, unpriced_responses })}${missing}${treeText(tree)}`
}

const eventsOf = (handle: Reader, { uid, kinds, range }: Target): Generator<SessionEvent> =>
  sessionEvents(handle, uid, { ...range, ...(kinds ? { kinds } : {}) })

const INFERRED = '{"inferred":'

/** The redacted native records, one per line. */
async function printRaw(handle: Reader, target: Target): Promise<number> {
  let count = 0
  for (const event of eventsOf(handle, target)) {
    count++
    const stored = target.bodies.text(event.payload_ref)
    const body = stored === undefined ? undefined : linesOf(stored).raw
    // What an adapter concluded is no record of the agent's.
    if (body !== undefined && !body.startsWith(INFERRED)) write(`${body}\n`)
    await drained()
  }
  return count
}

/** Event by event: a session may be larger than a string can be. */
async function printDocument(
  handle: Reader,
  target: Target,
  options: ShowCommand,
  config: Config,
): Promise<number> {
  const indented = (value: unknown, by: string): string =>
    JSON.stringify(value, null, 2).replaceAll('\n', `\n${by}`)
  const cost = indented(await costOf(handle, target.uid, config), '  ')
  const head = `{\n  "session": ${indented(target.session, '  ')},\n  "price": ${cost},\n  "receipts": ${indented(receiptsOf(handle, target.uid), '  ')},\n  "raw_lost": ${indented(rawLost(handle, target.uid), '  ')},\n  "events": [`
  let count = 0
  for (const event of eventsOf(handle, target)) {
    if (count === 0) write(head)
    const body = options.payload ? target.bodies.body(event.payload_ref) : undefined
    const shown = options.payload
      ? { ...event, told: body ? toldDocument(body) : null, payload: body?.raw ?? null }
      : event
    write(`${count === 0 ? '' : ','}\n    ${indented(shown, '    ')}`)
    count++
    await drained()
  }
  // Nothing is begun before there is something: an event that is not there is an error, and a document of its own.
  const foot = `],\n  "unread_bodies": ${options.payload ? target.bodies.unread.size : null}\n}\n`
  if (count > 0) write(`\n  ${foot}`)
  else if (target.seq === undefined) write(head + foot)
  return count
}
