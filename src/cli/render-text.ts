// The entries of a session as lines for a terminal: prompts stand out, a call is one line with its result and duration,
// edits are diffs, what is long is folded with a count.

import type { Body } from '../event/body.ts'
import { subjectOf, wordsOf } from '../event/words.ts'
import { changeText, diffsOf, type FileDiff } from '../export/diff.ts'
import { CALL_WORDS, isEdit, isInstruction, type SessionEvent } from '../model.ts'
import type { Entry } from '../query/transcript.ts'
import { paint } from './colour.ts'
import { formatClock, formatDay, formatDuration, plural } from './format.ts'
import { outputWidth } from './print.ts'
import { cut, fold, harmless, oneLine, widthOf } from './text.ts'

export interface RenderOptions {
  /** Unfold everything. */
  full: boolean
  thinking: boolean
  /** Lifecycle records, which are left out unless somebody asked for them. */
  lifecycle: boolean
  /** The number of the one event that was asked for. */
  asked?: number
  body: (event: SessionEvent) => Body | undefined
}

/** Lines of a message, a diff and a failed result that are shown without --full. */
const SHOWN = { message: 40, diff: 12, failure: 6 }
/** Where the results of calls stand below each other, if the call leaves room. */
const FACTS_AT = 60
const LEAST_SUBJECT = 10
const CLOCK = 9
const ERROR_NAME = /^\s*(?:[\w.]*?(?:error|exception)|fatal|panic)\b/i
const TELLING = /\b(?:\w*error|fail(?:ed|ure)?|fatal|panic(?:ked)?|\w*exception|denied|not found|cannot)\b/i
const SEQ = 7

export class TextRenderer {
  readonly #options: RenderOptions
  readonly #width: number
  #day: string | undefined
  /** What was left out, to be told at the end. */
  readonly leftOut = { lifecycle: 0, inherited: 0, folded: 0 }

  constructor(options: RenderOptions) {
    this.#options = options
    const width = outputWidth()
    this.#width = width === Number.POSITIVE_INFINITY ? width : Math.max(40, Math.min(width, 160))
  }

  /** The lines of one entry; none for what is left out. */
  lines(entry: Entry): string[] {
    if (entry.type === 'agent') return this.#agent(entry)
    const { event, depth } = entry
    if (this.#isLeftOut(event)) return []
    const lines = this.#event(entry).map((line) => ('│ '.repeat(depth) + line).trimEnd())
    return [...this.#dayLine(event), ...lines]
  }

  #isLeftOut(event: SessionEvent): boolean {
    if (event.is_inherited && !this.#options.full) {
      this.leftOut.inherited++
      return true
    }
    const isNote = event.kind === 'lifecycle' || isInstruction(event)
    if (!isNote || this.#options.lifecycle || event.mark === 'compaction') return false
    this.leftOut.lifecycle++
    return true
  }

  #dayLine({ ts }: SessionEvent): string[] {
    const day = ts === null ? this.#day : formatDay(ts)
    if (day === undefined || day === this.#day) return []
    const isFirst = this.#day === undefined
    this.#day = day
    return isFirst ? [] : ['', paint.dim(`── ${day} ──`)]
  }

  #agent({ name, sessionUid, eventCount, depth }: Extract<Entry, { type: 'agent' }>): string[] {
    const own = name === sessionUid ? '' : `  ${paint.dim(oneLine(name))}`
    const where = name === sessionUid ? `  ${paint.dim(sessionUid)}` : own
    return [
      `${'│ '.repeat(depth - 1)}${paint.magenta('┌ sub-agent')}${where}  ${plural(eventCount, 'event')}`,
    ]
  }

  #event(entry: Extract<Entry, { type: 'event' }>): string[] {
    const { event } = entry
    switch (event.kind) {
      case 'user_msg':
      case 'human_intervention':
      case 'decision':
        if (isInstruction(event)) return this.#notice(event, entry.depth)
        return event.role === 'tool' ? this.#result(event) : this.#prompt(event, entry.depth)
      case 'assistant_msg':
        return this.#message(event, entry.depth, 'message')
      case 'thinking':
        return this.#thinking(event, entry.depth)
      case 'tool_call':
      case 'edit':
      case 'test_run':
      case 'retry':
        return event.tool === null ? this.#notice(event, entry.depth) : this.#call(entry)
      case 'tool_result':
        return this.#result(event)
      case 'error':
        return event.role === 'tool' ? this.#result(event) : this.#notice(event, entry.depth)
      default:
        return this.#notice(event, entry.depth)
    }
  }

  #prompt(event: SessionEvent, depth: number): string[] {
    const name = event.kind === 'decision' ? 'decision' : depth > 0 ? 'task' : 'you'
    const room = Math.min(this.#width, 80) - depth * 2
    const label = `── ${clock(event)}#${event.seq} ${name} ${marks(event)}`
    const rule = '─'.repeat(Math.max(3, room - widthOf(label)))
    const text = this.#folded(this.#text(event), SHOWN.message, room)
    return ['', paint.cyan(paint.bold(label + rule)), ...text.map((line) => paint.bold(line)), '']
  }

  #message(event: SessionEvent, depth: number, size: keyof typeof SHOWN): string[] {
    const room = this.#room(depth)
    return this.#gutter(event, this.#folded(this.#text(event), SHOWN[size], room))
  }

  #thinking(event: SessionEvent, depth: number): string[] {
    const text = this.#text(event)
    if (this.#options.thinking || this.#options.full)
      return this.#gutter(
        event,
        this.#folded(`thinking: ${text}`, Number.POSITIVE_INFINITY, this.#room(depth)).map(paint.dim),
      )
    const count = text.trim().split('\n').length
    this.leftOut.folded += count - 1
    const more = count > 1 ? `  (${plural(count, 'line')})` : ''
    return this.#gutter(event, [
      paint.dim(`thinking: ${cut(oneLine(text), this.#room(depth) - 10 - more.length)}${more}`),
    ])
  }

  #notice(event: SessionEvent, depth: number): string[] {
    const isError = event.kind === 'error'
    if (event.mark === 'compaction') return this.#compaction(event)
    const sign = isError ? '✖ ' : '· '
    const took = event.duration_ms ? `  ${formatDuration(event.duration_ms)}` : ''
    const text = `${sign}${oneLine(event.summary)}${took}`
    const shown = cut(text, this.#room(depth))
    return this.#gutter(event, [isError ? paint.red(shown) : paint.dim(shown)])
  }

  #compaction(event: SessionEvent): string[] {
    const text = `══ ${clock(event)}#${event.seq} ${oneLine(event.summary)} `
    const rule = '═'.repeat(Math.max(2, Math.min(this.#width, 80) - widthOf(text)))
    return ['', paint.magenta(text + rule)]
  }

  #call({ event, result, depth }: Extract<Entry, { type: 'event' }>): string[] {
    const { full } = this.#options
    const body = full || isEdit(event) ? this.#options.body(event) : undefined
    const edits = diffsOf(body)
    const output = result ? this.#text(result).replace(/(?<!\n)\n+$/, '') : ''
    const isFailed = result?.kind === 'error'
    const number = result && result.seq === this.#options.asked ? [`#${result.seq}`] : []
    const facts = [...number, factsOf(event, result, edits, output)].join('  ')
    const isCut = widthOf(`▸ ${event.tool}  ${subjectText(event)}  ${facts}`) > this.#room(depth)
    const command = full ? wholeCommand(event, body, isCut) : []
    const below = [
      ...command.flatMap((line) => fold(line, this.#room(depth) - 2)).map((line) => `│ ${line}`.trimEnd()),
      ...edits.flatMap((edit) => this.#diff(edit, edits.length > 1)),
      ...(full || isFailed
        ? this.#folded(isFailed ? this.#telling(output) : output, SHOWN.failure, this.#room(depth) - 2).map(
            (text) => paint.dim(`│ ${text}`.trimEnd()),
          )
        : []),
    ]
    const head = this.#callHead(event, facts, depth, isFailed ? paint.red : paint.dim)
    return this.#gutter(
      event,
      [...head, ...(output === '' && edits.length + command.length === 0 ? [] : below)],
      isFailed,
    )
  }

  /** The call, and what came of it behind it; below it where there is no room beside a subject that tells anything. */
  #callHead(event: SessionEvent, facts: string, depth: number, colour: (text: string) => string): string[] {
    const tool = `▸ ${oneLine(event.tool ?? '')}`
    const used = widthOf(tool) + 2
    const beside = this.#room(depth) - widthOf(facts) - 2
    const isBeside = facts === '' || beside - used >= LEAST_SUBJECT
    const room = isBeside ? beside : this.#room(depth)
    const subject = cut(subjectText(event), Math.max(LEAST_SUBJECT, room - used))
    const line = `${paint.blue(tool)}  ${subject}`
    if (facts === '') return [line]
    if (!isBeside) return [line, `  ${colour(facts)}`]
    const gap = ' '.repeat(Math.max(0, Math.min(room, FACTS_AT) - used - widthOf(subject)) + 2)
    return [line + gap + colour(facts)]
  }

  /** A result whose call is not in sight. */
  #result(event: SessionEvent): string[] {
    const output = this.#text(event).replace(/(?<!\n)\n+$/, '')
    const isFailed = event.kind === 'error'
    const facts = factsOf(event, event, [], output)
    const head = `◂ ${oneLine(event.tool ?? 'result')}  ${facts}`
    const limit = this.#options.full || isFailed ? SHOWN.failure : 1
    const text = this.#folded(output, limit, this.#room(0) - 2).map((line) =>
      paint.dim(`│ ${line}`.trimEnd()),
    )
    return this.#gutter(event, [isFailed ? paint.red(head) : head, ...text])
  }

  #diff(edit: FileDiff, isNamed: boolean): string[] {
    const limit = this.#options.full ? Number.POSITIVE_INFINITY : SHOWN.diff
    const shown = edit.lines.slice(0, limit).map((line) => {
      const text = cut(harmless(line).replaceAll('\t', '  '), this.#room(0) - 2)
      if (line.startsWith('+')) return `│ ${paint.green(text)}`
      return line.startsWith('-') ? `│ ${paint.red(text)}` : paint.dim(`│ ${text}`.trimEnd())
    })
    const rest = edit.lines.length - shown.length
    if (rest > 0) this.leftOut.folded += rest
    return [
      ...(isNamed ? [`│ ${edit.path}  ${changeText(edit)}`] : []),
      ...shown,
      ...(rest > 0 ? [paint.dim(`│ … ${plural(rest, 'more line')}`)] : []),
    ]
  }

  /** From the line on that says what went wrong; what stands before it is folded. */
  #telling(output: string): string {
    if (this.#options.full) return output
    const lines = output.split('\n')
    const named = lines.findIndex(namesError)
    const at = named === -1 ? lines.findIndex((line) => TELLING.test(line)) : named
    if (at <= 0 || lines.length <= SHOWN.failure) return output
    this.leftOut.folded += at
    return lines.slice(at).join('\n')
  }

  #text(event: SessionEvent): string {
    return harmless(wordsOf(event, this.#options.body(event))).replaceAll('\t', '  ')
  }

  #room(depth: number): number {
    return this.#width - CLOCK - SEQ - depth * 2
  }

  #folded(text: string, limit: number, width: number): string[] {
    const lines = text.trimEnd().split('\n')
    const most = this.#options.full ? Number.POSITIVE_INFINITY : limit
    // One more line is shorter than saying that there is one more.
    const shown = lines.length <= most + 1 ? lines : lines.slice(0, most)
    const rest = lines.length - shown.length
    this.leftOut.folded += rest
    const more = rest > 0 ? [paint.dim(`… ${plural(rest, 'more line')}`)] : []
    return [...shown.flatMap((line) => fold(line, width)).map(withRedactions), ...more]
  }

  #gutter(event: SessionEvent, lines: string[], isFailed = false): string[] {
    const [first = '', ...rest] = lines
    const seq = `#${event.seq}`.padEnd(SEQ)
    const head = paint.dim(clock(event)) + (isFailed ? paint.red(seq) : paint.dim(seq))
    const blank = ' '.repeat(CLOCK + SEQ)
    return [`${head}${marks(event)}${first}`, ...rest.map((line) => blank + line)].map((line) =>
      line.trimEnd(),
    )
  }
}

const clock = ({ ts }: SessionEvent): string => (ts === null ? ' '.repeat(CLOCK) : `${formatClock(ts)} `)

/** `TypeError: x is undefined`. */
function namesError(line: string): boolean {
  const name = ERROR_NAME.exec(line)?.[0]
  return name !== undefined && /: \S/.test(line.slice(name.length))
}

const marks = (event: SessionEvent): string =>
  `${event.is_superseded ? paint.yellow('(taken back) ') : ''}${event.is_inherited ? '(inherited) ' : ''}`

const subjectText = (event: SessionEvent): string => oneLine(subjectOf(event))

/** The lines of a command of which the head shows only the beginning. */
function wholeCommand(event: SessionEvent, body: Body | undefined, isCut: boolean): string[] {
  const command = body?.command?.trim()
  if (command === undefined || (command === subjectOf(event) && !isCut)) return []
  return harmless(command)
    .replaceAll('\t', '  ')
    .split('\n')
    .map((line, at) => `${at === 0 ? '$' : ' '} ${line}`)
}

const withRedactions = (line: string): string =>
  line.replace(/\[REDACTED:[^\][\s]*\]/g, (mark) => paint.yellow(mark))

/** What came of a call, in a few words. */
function factsOf(
  event: SessionEvent,
  result: SessionEvent | null,
  edits: readonly FileDiff[],
  output: string,
): string {
  const parts: string[] = []
  if (event.kind === 'retry') parts.push('again')
  if (edits.length > 0) {
    const sum = { added: 0, removed: 0 }
    for (const edit of edits) {
      sum.added += edit.added
      sum.removed += edit.removed
    }
    parts.push(changeText(sum))
  }
  if (!result) parts.push(CALL_WORDS.open)
  else {
    const isFailed = result.kind === 'error'
    if (result.exit_code !== null && (result.exit_code !== 0 || isFailed))
      parts.push(`exit ${result.exit_code}`)
    else if (isFailed) parts.push(CALL_WORDS.failed)
    else if (result.exit_code === 0) parts.push(CALL_WORDS.ok)
    const count = output === '' ? 0 : output.split('\n').length
    if (count > 1 && edits.length === 0) parts.push(`${plural(count, 'line')}`)
    if (result.duration_ms !== null) parts.push(formatDuration(result.duration_ms))
  }
  return parts.join('  ')
}
