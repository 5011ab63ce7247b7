// One source → batches ready to be written: read, redact, shorten. Every string of an item passes the redactor here,
// before anything is cut (half a secret would not be recognised) and before anything is stored.
import { hash } from 'node:crypto'
import type { Adapter, EventItem, Item, Position, Source } from '../adapters/adapter.ts'
import { sessionUid } from '../model.ts'
import { type Findings, isTooDeep, type Redactor } from '../redact/index.ts'
import { type FileFacts, probes } from '../sources/identity.ts'
import {
  type Batch,
  type Cursor,
  ID_BYTES,
  ID_LAYOUT,
  type PreparedEvent,
  type PreparedFacts,
  type PreparedUsage,
} from '../store/batch.ts'
import { Doubts } from './doubts.ts'
import { collectAfter } from './garbage.ts'
import { headingOf, holds, oneLine, searchable, wellFormed } from './text.ts'

export interface ReaderContext {
  redactor: Redactor
  findTask: (text: string) => string | undefined
}

/** The reader's own carry-over, beside the adapter's. */
interface Carry {
  adapter: unknown
  /** Last event per session, for formats without links. */
  last: [session: string, keyHex: string][]
  main: string | null
}

const BATCH_BYTES = 2 << 20
const BATCH_ITEMS = 4000
/** Also where next to nothing is understood, so that progress is seen and a signal heard. */
const BATCH_SOURCE_BYTES = 32 << 20
const MAX_LAST = 16
const UUID_KEY = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i

export function* readSource(
  adapter: Adapter,
  source: Source,
  start: { cursor: Cursor | undefined; isResumed: boolean },
  facts: FileFacts,
  context: ReaderContext,
): Generator<Batch> {
  const cursor = start.isResumed ? start.cursor : undefined
  const carry: Carry = cursor ? (JSON.parse(cursor.state) as Carry) : { adapter: null, last: [], main: null }
  // A cursor without state was written before the first line was whole: there is nothing to go on from.
  const from: Position | null =
    cursor && carry.adapter !== null ? { offset: cursor.offset, state: carry.adapter } : null
  const generation = cursor ? cursor.generation : (start.cursor?.generation ?? -1) + 1
  const builder = new BatchBuilder(adapter.flavor, carry, context, from?.offset ?? 0)
  let position = from ?? { offset: 0, state: null }
  let isDirty = true
  let failure: unknown
  try {
    for (const item of adapter.read(source, from)) {
      if (item.type !== 'position') {
        builder.add(item)
        isDirty = true
        continue
      }
      position = item.position
      builder.endStep(position.offset)
      if (builder.isFull) {
        const batch = builder.take(cursorAt(adapter, source, facts, position, carry, generation))
        const { length } = batch.payloads
        yield batch
        collectAfter(length)
        isDirty = false
      }
    }
  } catch (error) {
    failure = error
  }
  // What stands before an unreadable place is kept; the size in the cursor makes the next sweep try again from there.
  const size = failure === undefined ? facts.size : Math.min(facts.size - 1, position.offset)
  if (isDirty && (failure === undefined || position.state !== null))
    yield builder.take(cursorAt(adapter, source, { ...facts, size }, position, carry, generation))
  if (failure !== undefined) throw failure
}

function cursorAt(
  adapter: Adapter,
  source: Source,
  facts: FileFacts,
  position: Position,
  carry: Carry,
  generation: number,
): Cursor {
  return {
    path: source.path,
    flavor: adapter.flavor,
    adapterVersion: adapter.version,
    ...facts,
    ...probes(source.path, position.offset, facts.size),
    offset: position.offset,
    state: JSON.stringify({ ...carry, adapter: position.state }),
    generation,
    sessionUid: carry.main,
    missingAt: null,
  }
}

class BatchBuilder {
  readonly #flavor: string
  readonly #carry: Carry
  readonly #context: ReaderContext
  #fromOffset: number
  #lastName = ''
  #lastHash: Uint8Array = new Uint8Array()
  #batch: Contents = emptyBatch()
  #ids: Uint8Array[] = []
  #usage = new Map<string, PreparedUsage>()
  #payloads: Buffer[] = []
  #payloadBytes = 0
  #itemCount = 0
  /** Where the present step began, and whether something in it was too deep to keep. */
  #stepOffset: number
  #isTooDeep = false
  #isFirst = true
  readonly #doubts = new Doubts()

  constructor(flavor: string, carry: Carry, context: ReaderContext, fromOffset: number) {
    this.#flavor = flavor
    this.#carry = carry
    this.#context = context
    this.#fromOffset = fromOffset
    this.#stepOffset = fromOffset
  }

  get isFull(): boolean {
    return (
      this.#payloadBytes >= BATCH_BYTES ||
      this.#itemCount + this.#doubts.gapCount >= BATCH_ITEMS ||
      this.#stepOffset - this.#fromOffset >= BATCH_SOURCE_BYTES
    )
  }

  /** A step of the adapter is complete: usually one record. */
  endStep(offset: number): void {
    if (this.#isTooDeep) {
      const detail = 'something in these bytes is nested too deeply: its event is kept without the body'
      const length = Math.max(0, offset - this.#stepOffset)
      this.#doubts.addGap({ offset: this.#stepOffset, length, reason: 'too-deep', detail })
    }
    this.#isTooDeep = false
    this.#stepOffset = offset
  }

  take(cursor: Cursor): Batch {
    const batch: Batch = {
      ...this.#batch,
      ...this.#doubts.take(),
      cursor,
      fromOffset: this.#fromOffset,
      isFirst: this.#isFirst,
      usage: [...this.#usage.values()],
      ids: join(this.#ids, this.#ids.length * ID_BYTES),
      payloads: join(this.#payloads, this.#payloadBytes),
    }
    this.#batch = emptyBatch()
    this.#ids = []
    this.#usage = new Map()
    this.#payloads = []
    this.#payloadBytes = 0
    this.#itemCount = 0
    this.#isFirst = false
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
      case 'usage':
        this.#addUsage({
          sessionUid: this.#uid(item.session),
          responseId: item.id,
          ts: wholeOrNull(item.ts),
          model: item.model,
          input: count(item.input),
          cacheRead: count(item.cacheRead),
          cacheWrite5m: count(item.cacheWrite5m),
          cacheWrite1h: count(item.cacheWrite1h),
          output: count(item.output),
          reasoning: count(item.reasoning),
          scope: item.scope,
          isSidechain: item.isSidechain ?? false,
          isNested: item.nested ?? false,
          reportedCost: item.reportedCost === undefined ? null : count(item.reportedCost),
        })
        return
      case 'edge':
        this.#batch.edges.push({
          sessionUid: this.#uid(item.session),
          parentUid: item.parent === null ? null : sessionUid(this.#flavor, item.parent),
          kind: item.kind,
          at: wholeOrNull(item.at),
          evidence: item.evidence ?? null,
        })
        return
      case 'supersede':
        this.#batch.supersedes.push({
          sessionUid: this.#uid(item.session),
          keys: (item.keys ?? []).map((key) => this.#key(item.session, key)),
          sinceKey: item.sinceKey === undefined ? null : this.#key(item.session, item.sinceKey),
          untilKey: this.#lastKey(sessionUid(this.#flavor, item.session)),
          reason: item.reason,
        })
        return
      case 'gap':
        this.#doubts.addGap(item)
        return
      case 'unknown':
        this.#doubts.countUnknown(item.name)
    }
  }

  /** A response that is written line by line comes once per line: only its greatest state goes to the store. */
  #addUsage(usage: PreparedUsage): void {
    const id = `${usage.sessionUid}\0${usage.responseId}`
    const known = this.#usage.get(id)
    if (!known) this.#usage.set(id, usage)
    else if (usage.output > known.output) {
      this.#usage.set(id, {
        ...usage,
        ts: known.ts ?? usage.ts,
        isSidechain: known.isSidechain && usage.isSidechain,
      })
    }
  }

  #uid(session: string): string {
    const uid = sessionUid(this.#flavor, session)
    this.#carry.main ??= uid
    return uid
  }

  /** A uuid names the same event everywhere, also in a fork's copy; any other key only within its session. */
  #key(session: string, key: string): Uint8Array {
    const scope = UUID_KEY.test(key) ? this.#flavor : sessionUid(this.#flavor, session)
    const name = `${scope}\0${key}`
    // An event is most often the parent of the next one.
    if (name !== this.#lastName) {
      this.#lastName = name
      this.#lastHash = hash('sha1', name, 'buffer').subarray(0, 12)
    }
    return this.#lastHash
  }

  #findings(uid: string): Findings {
    const known = this.#batch.findings[uid] ?? {}
    this.#batch.findings[uid] = known
    return known
  }

  #addEvent(item: EventItem): void {
    const uid = this.#uid(item.session)
    const findings = this.#findings(uid)
    const { redactor } = this.#context
    const clean = (text: string): string => redactor.text(text, findings)
    const body = redactor.value(item.payload, findings)
    const payload = this.#encode(body)
    // The same reference back means that nothing was found; a text that stands in it whole was then looked at already.
    const isClean = item.text === undefined || (body === item.payload && holds(body, item.text, 3))
    const text = isClean ? (item.text ?? '') : clean(item.text as string)
    const parentKey =
      item.parentKey === undefined
        ? this.#lastKey(uid)
        : item.parentKey === null
          ? null
          : this.#key(item.session, item.parentKey)
    const key = this.#key(item.session, item.key)
    const event: PreparedEvent = {
      sessionUid: uid,
      hasParent: parentKey !== null,
      hasCall: item.callId !== undefined,
      ts: wholeOrNull(item.ts),
      kind: item.kind,
      role: item.role,
      tool: item.tool === undefined ? null : wellFormed(clean(item.tool)).slice(0, 200),
      summary: oneLine(clean(item.summary)),
      isSidechain: item.isSidechain ?? false,
      isInherited: item.inherited ?? false,
      agent: item.agent ?? null,
      exitCode: wholeOrNull(item.exitCode ?? null),
      durationMs: wholeOrNull(item.durationMs ?? null),
      files: (item.files ?? []).map((file) => wellFormed(clean(file)).slice(0, 4096)),
      payloadAt: this.#payloadBytes,
      payloadLength: payload.length,
      text: searchable(text, item.kind),
      heading: headingOf(item.kind),
    }
    const ids = new Uint8Array(ID_BYTES)
    ids.set(key, ID_LAYOUT.key[0])
    if (parentKey !== null) ids.set(parentKey, ID_LAYOUT.parentKey[0])
    ids.set(hash('sha256', payload, 'buffer').subarray(0, 16), ID_LAYOUT.payload[0])
    if (item.callId !== undefined)
      ids.set(hash('sha1', item.callId, 'buffer').subarray(0, 8), ID_LAYOUT.call[0])
    this.#ids.push(ids)
    this.#payloads.push(payload)
    this.#payloadBytes += payload.length
    this.#batch.events.push(event)
    this.#remember(uid, key)
    if (item.kind === 'user_msg' && !item.isSidechain) this.#noteTask(uid, item.session, text, 1)
  }

  /** The redactor refuses what is nested beyond its limit, and JSON.stringify what is beyond the stack. */
  #encode(payload: unknown): Buffer {
    if (!isTooDeep(payload)) {
      try {
        return Buffer.from(JSON.stringify(payload) ?? 'null')
      } catch {
        // Named below.
      }
    }
    this.#isTooDeep = true
    return Buffer.from('{"recollect":"nested too deeply to keep"}')
  }

  #lastKey(uid: string): Uint8Array | null {
    const entry = this.#carry.last.find((one) => one[0] === uid)
    return entry ? Buffer.from(entry[1], 'hex') : null
  }

  #remember(uid: string, key: Uint8Array): void {
    const entry = this.#carry.last.find((one) => one[0] === uid)
    const hex = Buffer.from(key).toString('hex')
    if (entry) entry[1] = hex
    else this.#carry.last.push([uid, hex])
    if (this.#carry.last.length > MAX_LAST) this.#carry.last.shift()
  }

  #addFacts(item: Extract<Item, { type: 'session' }>): void {
    const uid = this.#uid(item.session)
    const findings = this.#findings(uid)
    const facts: PreparedFacts = { sessionUid: uid, flavor: this.#flavor, nativeId: item.session }
    for (const field of ['cwd', 'gitBranch', 'gitRemote', 'model', 'title', 'agentVersion'] as const) {
      const value = item[field]
      if (value !== undefined) facts[field] = oneLine(this.#context.redactor.text(value, findings), 1000)
    }
    if (item.titleByPerson !== undefined) facts.titleByPerson = item.titleByPerson
    if (item.relation !== undefined) facts.relation = item.relation
    if (item.startedAt !== undefined && Number.isFinite(item.startedAt))
      facts.startedAt = Math.trunc(item.startedAt)
    this.#batch.facts.push(facts)
    if (item.gitBranch !== undefined) this.#noteTask(uid, item.session, item.gitBranch, 3)
    if (item.cwd !== undefined) this.#noteTask(uid, item.session, item.cwd, 2)
  }

  /** The branch tells the task best, then the directory, then what was asked. */
  #noteTask(uid: string, session: string, text: string, rank: number): void {
    const task = this.#context.findTask(text.slice(0, 2000))
    if (task === undefined) return
    const taskRef = oneLine(task)
    this.#batch.facts.push({
      sessionUid: uid,
      flavor: this.#flavor,
      nativeId: session,
      taskRef,
      taskRefRank: rank,
    })
  }
}

type Contents = Omit<
  Batch,
  'cursor' | 'payloads' | 'ids' | 'usage' | 'fromOffset' | 'isFirst' | 'gaps' | 'unknown'
>

function emptyBatch(): Contents {
  return { events: [], facts: [], edges: [], supersedes: [], findings: {} }
}

/** Into memory of its own, so that it can be handed to another thread. */
function join(parts: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

const wholeOrNull = (value: number | null): number | null =>
  value !== null && Number.isFinite(value) ? Math.trunc(value) : null
const count = (value: number): number => (Number.isFinite(value) && value > 0 ? Math.trunc(value) : 0)
