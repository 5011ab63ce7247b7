// One source → batches ready to be written: read, redact, shorten. Every string of an item passes the redactor here,
// before anything is cut (half a secret would not be recognised) and before anything is stored.

import type { Adapter, EventItem, Item, Position, Source, SweepMemo, UsageItem } from '../adapters/adapter.ts'
import { handedOffFrom } from '../digest/briefing.ts'
import { parseStored } from '../errors.ts'
import { bodyText, packTold, type Told } from '../event/body.ts'
import { searchedIn } from '../event/words.ts'
import { sessionUid } from '../model.ts'
import { type Findings, isTooDeep, type Redactor } from '../redact/index.ts'
import type { FileFacts } from '../sources/identity.ts'
import { isAsked, TASK_RANK, type TaskFinder, type TaskPlace } from '../sources/task.ts'
import type { Batch, Cursor, PreparedEvent, PreparedFacts, PreparedUsage } from '../store/batch.ts'
import type { Buffers } from './buffers.ts'
import { type Carry, cursorOf } from './cursor.ts'
import { Gaps } from './gaps.ts'
import { collectAfter } from './garbage.ts'
import { Ids, linkOf } from './ids.ts'
import { laterState, preparedLimits, preparedUsage } from './responses.ts'
import { headingOf, idOf, nameOf, oneLine, searchable, timeOrNull, wholeOrNull } from './text.ts'
import { toldBy } from './told.ts'

export interface ReaderContext {
  redactor: Redactor
  findTask: TaskFinder
  buffers: Buffers
  memo: SweepMemo
}

const BATCH_BYTES = 2 << 20
const BATCH_ITEMS = 4000
/** Also where next to nothing is understood, so that progress is seen and a signal heard. */
const BATCH_SOURCE_BYTES = 32 << 20
const [MAX_NAME, MAX_NAMES] = [120, 2000]

export function* readSource(
  adapter: Adapter,
  source: Source,
  start: { cursor: Cursor | undefined; isResumed: boolean },
  facts: FileFacts,
  context: ReaderContext,
): Generator<Batch> {
  const cursor = start.isResumed ? start.cursor : undefined
  const carry: Carry = cursor ? parseStored<Carry>(cursor.state) : { adapter: null, main: null }
  if (source.isShared) carry.main = null
  // A file that was empty, or held half a line, has a cursor but no position yet.
  const from: Position | null =
    cursor && carry.adapter !== null ? { offset: cursor.offset, state: carry.adapter } : null
  const generation = cursor ? cursor.generation : (start.cursor?.generation ?? -1) + 1
  const builder = new BatchBuilder(adapter.flavor, carry, context, from, source.isShared ?? false)
  // The carry-over is stored too: titles and last errors stand in it.
  const stateNow = (): unknown => context.redactor.value(position.state, {})
  const cursorAt = (now: FileFacts): Cursor =>
    cursorOf(adapter, source, now, { offset: position.offset, state: stateNow() }, carry, generation)
  let position = from ?? { offset: 0, state: null }
  // Not all of the file is in yet: whoever ends here must find it changed.
  const sofar = (): FileFacts => ({ ...facts, size: position.offset, modifiedAt: 0 })
  let failure: unknown
  try {
    for (const item of adapter.read(source, from, context.memo)) {
      if (item.type !== 'position') {
        builder.add(item)
        continue
      }
      position = item.position
      builder.endStep(position.offset)
      if (!builder.isFull) continue
      const batch = builder.take(cursorAt(sofar()))
      const { length } = batch.payloads
      yield batch
      collectAfter(length)
    }
  } catch (error) {
    failure = error
  }
  // What stands before an unreadable place is kept; the next sweep tries again from there.
  if (failure === undefined) yield builder.take(cursorAt(facts))
  else if (position.state !== null) yield builder.take(cursorAt(sofar()))
  if (failure !== undefined) throw failure
}

class BatchBuilder {
  readonly #flavor: string
  readonly #carry: Carry
  readonly #isShared: boolean
  readonly #context: ReaderContext
  #start: Batch['start']
  #fromOffset: number
  #lastSession: string | undefined
  #lastUid = ''
  /** Short texts without a secret in them. */
  readonly #plainNames = new Set<string>()
  #batch: Contents = emptyBatch()
  readonly #ids: Ids
  readonly #payloads: Buffers['payloads']
  readonly #texts: Buffers['texts']
  #usage = new Map<string, PreparedUsage>()
  #itemCount = 0
  /** Where the present step began, and whether something in it was too deep to keep. */
  #stepOffset: number
  #isTooDeep = false
  readonly #gaps = new Gaps()

  constructor(
    flavor: string,
    carry: Carry,
    context: ReaderContext,
    from: Position | null,
    isShared: boolean,
  ) {
    this.#isShared = isShared
    this.#flavor = flavor
    this.#carry = carry
    this.#context = context
    context.buffers.clear()
    this.#payloads = context.buffers.payloads
    this.#texts = context.buffers.texts
    this.#ids = new Ids(flavor)
    this.#start = from ? 'resumed' : 'fresh'
    this.#fromOffset = from?.offset ?? 0
    this.#stepOffset = this.#fromOffset
  }

  get isFull(): boolean {
    return (
      this.#payloads.length >= BATCH_BYTES ||
      this.#itemCount + this.#gaps.gapCount >= BATCH_ITEMS ||
      this.#stepOffset - this.#fromOffset >= BATCH_SOURCE_BYTES
    )
  }

  /** A step of the adapter is complete: usually one record. */
  endStep(offset: number): void {
    if (this.#isTooDeep) {
      const detail = 'something in these bytes is nested too deeply: its event is kept without the body'
      const length = Math.max(0, offset - this.#stepOffset)
      this.#gaps.addGap({ offset: this.#stepOffset, length, reason: 'too-deep', detail })
    }
    this.#isTooDeep = false
    this.#stepOffset = offset
  }

  take(cursor: Cursor): Batch {
    const batch: Batch = {
      ...this.#batch,
      ...this.#gaps.take(),
      cursor,
      start: this.#start,
      fromOffset: this.#fromOffset,
      usage: [...this.#usage.values()],
      ids: this.#ids.take(),
      ...this.#context.buffers.take(),
    }
    this.#batch = emptyBatch()
    this.#usage = new Map()
    this.#start = 'later'
    this.#itemCount = 0
    this.#fromOffset = cursor.offset
    return batch
  }

  add(item: Exclude<Item, { type: 'position' }>): void {
    if (item.type !== 'gap' && item.type !== 'unknown') this.#itemCount++
    switch (item.type) {
      case 'event':
        this.#addEvent(item)
        return
      case 'session':
        this.#addFacts(item)
        return
      case 'title':
        this.#addTitle(item)
        return
      case 'alias':
        this.#addName(item)
        return
      case 'usage':
        this.#addUsage(item)
        return
      case 'limit':
        this.#batch.limits.push(...preparedLimits(item, this.#uid(item.session), (text) => this.#name(text)))
        return
      case 'edge':
        this.#batch.edges.push({
          sessionUid: this.#uid(item.session),
          parentUid: item.parent === null ? null : sessionUid(this.#flavor, idOf(item.parent)),
          kind: item.kind,
          at: timeOrNull(item.at),
          evidence: item.evidence === undefined ? null : this.#name(item.evidence),
        })
        return
      case 'supersede':
        this.#batch.supersedes.push({
          sessionUid: this.#uid(item.session),
          keys: (item.keys ?? []).map((key) => this.#ids.key(item.session, key)),
          sinceKey: item.sinceKey === undefined ? null : this.#ids.key(item.session, item.sinceKey),
          isRepetition: item.isRepetition ?? false,
          toldAs: item.toldAs ?? null,
          eventCount: this.#batch.events.length,
        })
        return
      case 'gap':
        this.#gaps.addGap({ ...item, reason: nameOf(item.reason), detail: this.#name(item.detail) })
        return
      case 'unknown':
        this.#gaps.countUnknown(this.#name(item.name))
    }
  }

  /** What a foreign file calls something may hold anything. */
  #name(text: string): string {
    return nameOf(this.#context.redactor.text(text, {}))
  }

  /** A response that is written line by line comes once per line: only its greatest state goes to the store. */
  #addUsage(item: UsageItem): void {
    const keyOf = (key: string): Uint8Array => this.#ids.key(item.session, key)
    const usage = preparedUsage(item, this.#uid(item.session), (text) => this.#name(text), keyOf)
    const id = `${usage.sessionUid}\0${usage.responseId}`
    const known = this.#usage.get(id)
    this.#usage.set(id, known ? laterState(known, usage) : usage)
  }

  #uid(session: string): string {
    if (session === this.#lastSession) return this.#lastUid
    this.#lastSession = session
    this.#lastUid = sessionUid(this.#flavor, idOf(session))
    if (!this.#isShared) this.#carry.main ??= this.#lastUid
    return this.#lastUid
  }

  /** Names of tools, files and the like come again and again. */
  #clean(text: string, findings: Findings): string {
    if (text.length > MAX_NAME) return this.#context.redactor.text(text, findings)
    if (this.#plainNames.has(text)) return text
    const cleaned = this.#context.redactor.text(text, findings)
    if (cleaned === text && this.#plainNames.size < MAX_NAMES) this.#plainNames.add(text)
    return cleaned
  }

  #addEvent(item: EventItem): void {
    const uid = this.#uid(item.session)
    // Text, summary and names repeat what the payload says: what is found there again does not count.
    const findings: Findings = {}
    const again: Findings = {}
    const clean = (text: string): string => this.#clean(text, again)
    const payloadAt = this.#payloads.length
    const { body, told } = this.#addBody(item, findings, again)
    const payloadLength = this.#payloads.length - payloadAt
    const text = this.#searched(item, told, again)
    // A summary that begins what is said was looked at with it.
    const isQuote = body === item.payload && text.startsWith(item.summary, text.search(/\S/))
    const textAt = text === '' ? this.#texts.length : this.#texts.add(searchable(text, item.kind))
    const event: PreparedEvent = {
      sessionUid: uid,
      link: linkOf(item),
      hasCall: item.callId !== undefined,
      ts: timeOrNull(item.ts),
      kind: item.kind,
      role: item.role,
      tool: item.tool === undefined ? null : nameOf(clean(item.tool)),
      summary: oneLine(isQuote ? item.summary : clean(item.summary)),
      isSidechain: item.isSidechain ?? false,
      isInherited: item.inherited ?? false,
      isPart: item.isPart ?? false,
      isIncomplete: item.isIncomplete ?? false,
      hasMore: item.act?.command?.trim().includes('\n') ?? false,
      agent: item.agent === undefined ? null : nameOf(clean(item.agent)),
      exitCode: wholeOrNull(item.exitCode),
      durationMs: wholeOrNull(item.durationMs),
      does: item.act?.does ?? null,
      state: item.state ?? null,
      mark: item.mark ?? (item.made ? 'made' : null),
      files: (item.files ?? []).map((file) => nameOf(clean(file), 4096)),
      payloadAt,
      payloadLength,
      findings: null,
      textAt,
      textLength: this.#texts.length - textAt,
      heading: headingOf(item.kind),
    }
    event.findings = anyOf(findings) ?? anyOf(again)
    this.#ids.add(item, this.#payloads.reserve(0).subarray(payloadAt, payloadAt + payloadLength))
    this.#batch.events.push(event)
    if (isAsked(item)) this.#noteAsked(item.session, `${event.summary}\n${text}`, event.ts)
  }

  /** The redactor refuses what is nested beyond its limit, and JSON.stringify what is beyond the stack. */
  #addBody(item: EventItem, findings: Findings, again: Findings): { body: unknown; told: Told } {
    const { redactor } = this.#context
    const body = redactor.value(item.payload, findings)
    if (!isTooDeep(body)) {
      try {
        const { line, told } = packTold(toldBy(item), item.payload, body, {
          text: (text) => redactor.text(text, again),
          value: (value) => redactor.value(value, again),
        })
        this.#payloads.addText(bodyText(line, JSON.stringify(body) ?? 'null'))
        return { body, told }
      } catch {
        // Named below.
      }
    }
    this.#isTooDeep = true
    this.#payloads.addText(bodyText('', '{"recollect":"nested too deeply to keep"}'))
    return { body, told: {} }
  }

  /** What a search should find: what is said, also in a body too deep to keep, or what a call was given. */
  #searched(item: EventItem, told: Told, again: Findings): string {
    if (told.said !== undefined) return told.said
    if (item.act !== undefined) return searchedIn(told)
    return item.said === undefined ? '' : this.#context.redactor.text(item.said, again)
  }

  #addFacts(item: Extract<Item, { type: 'session' }>): void {
    const uid = this.#uid(item.session)
    const findings: Findings = {}
    const facts: PreparedFacts = { sessionUid: this.#uid(item.session) }
    for (const field of ['cwd', 'gitBranch', 'gitRemote', 'model', 'title', 'agentVersion'] as const) {
      const value = item[field]
      if (value !== undefined) facts[field] = oneLine(this.#context.redactor.text(value, findings), 1000)
    }
    if (item.titleByPerson !== undefined) facts.titleByPerson = item.titleByPerson
    if (item.relation !== undefined) facts.relation = item.relation
    if (item.outcome !== undefined) facts.outcome = item.outcome
    for (const flag of ['isBackground', 'isGuess'] as const) if (item[flag]) facts[flag] = true
    const startedAt = timeOrNull(item.startedAt)
    if (startedAt !== null) facts.startedAt = startedAt
    const onlyAt = timeOrNull(item.onlyAt)
    if (onlyAt !== null) facts.onlyAt = onlyAt
    this.#batch.facts.push(facts)
    if (anyOf(findings)) this.#batch.findings[uid] = findings
    if (item.gitBranch !== undefined) this.#noteTask(item.session, item.gitBranch, 'branch')
    if (item.cwd !== undefined && !item.isGuess) this.#noteTask(item.session, item.cwd, 'directory')
  }

  /** Not this source's session: what is told of it here makes nobody its source. */
  #addTitle({ session, title }: Extract<Item, { type: 'title' }>): void {
    const told = title === null ? null : oneLine(this.#context.redactor.text(title, {}), 1000)
    this.#batch.titles.push({ sessionUid: sessionUid(this.#flavor, idOf(session)), title: told })
  }

  #addName({ session, name, of, isGuess = false }: Extract<Item, { type: 'alias' }>): void {
    const [own, target] = [this.#ids.call(name), this.#ids.call(of)]
    this.#batch.names.push({ sessionUid: this.#uid(session), name: own, target, isGuess })
  }

  #noteAsked(session: string, text: string, at: number | null): void {
    this.#noteTask(session, text, 'prompt')
    const [sessionUid, parentUid] = [this.#uid(session), handedOffFrom(text)]
    if (parentUid !== undefined && parentUid !== sessionUid)
      this.#batch.edges.push({ sessionUid, parentUid, kind: 'handoff', at, evidence: null })
  }

  #noteTask(session: string, text: string, place: TaskPlace): void {
    const task = this.#context.findTask(text, place)
    if (task === undefined) return
    const facts: PreparedFacts = { sessionUid: this.#uid(session) }
    this.#batch.facts.push({ ...facts, taskRef: oneLine(task), taskRefRank: TASK_RANK[place] })
  }
}

type Contents = Omit<
  Batch,
  'cursor' | 'payloads' | 'texts' | 'ids' | 'usage' | 'start' | 'fromOffset' | 'gaps' | 'unknown'
>

function emptyBatch(): Contents {
  return { events: [], limits: [], facts: [], titles: [], names: [], edges: [], supersedes: [], findings: {} }
}

function anyOf(findings: Findings): Findings | null {
  for (const _ in findings) return findings
  return null
}
