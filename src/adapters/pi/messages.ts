// Messages as pi's model library writes them, for its own files and those of others who use it.
import {
  contentText,
  disjointTokens,
  type EventItem,
  exitCodeIn,
  type Fields,
  type Item,
  isRecord,
  num,
  type Part,
  partsOf,
  type Speaker,
  speakerOf,
  str,
  type Thread,
  type Tokens,
  usageItem,
} from '../kit/index.ts'

/** A part, and what is told of it beyond what its kind of part tells. */
export interface Told {
  part: Part
  more?: Partial<EventItem>
}

export interface Spoken {
  speaker: Speaker
  told: Told[]
  /** The message's other fields. */
  facts: Fields
}

export function spokenIn(message: Fields): Spoken {
  const { role, content, timestamp, model, ...facts } = message
  switch (role) {
    case 'toolResult':
      return { speaker: 'tool', told: [resultTold(message)], facts: {} }
    case 'bashExecution':
      return { speaker: 'user', told: shellTold(message), facts: {} }
    case 'custom':
    case 'hookMessage':
    case 'branchSummary':
    case 'compactionSummary':
      return { speaker: 'system', told: [injected(message)], facts: {} }
  }
  const told = partsOf(content).map((part): Told => ({ part: withoutSignature(part) }))
  const speaker = speakerOf(role)
  if (speaker === 'user') return { speaker, told: told.map(typedTold), facts }
  if (speaker !== undefined) return { speaker, told: [...told, ...endTold(message)], facts }
  const name = `message ${str(role) ?? 'without role'}`
  return { speaker: 'system', told: [note(name, message, { isKnown: false })], facts: {} }
}

export const note = (name: string, raw: Fields, more: Partial<Part & { is: 'other' }> = {}): Told => ({
  part: { is: 'other', name, isKnown: true, summary: name, ...more, raw } as Part,
})

function withoutSignature(part: Part): Part {
  const { thinkingSignature: signature, ...raw } = part.raw
  return typeof signature === 'string'
    ? { ...part, raw: { ...raw, signatureLength: signature.length } }
    : part
}

const ATTACHED = /^(?:<file name="[^"\n]*">.*?<\/file>\n)+/s

/** Files named on the command line stand before the person's words. */
const typedTold = ({ part }: Told): Told => ({
  part: part.is === 'text' ? { ...part, text: part.text.replace(ATTACHED, '') || part.text } : part,
})

/** What is told of an answer that did not come to its end. */
function endTold({ stopReason, errorMessage }: Fields): Told[] {
  const said = str(errorMessage)
  const more = said ? { said } : {}
  const summary = said || 'the request failed'
  if (stopReason === 'error')
    return [{ ...note('error', { stopReason, errorMessage }, { kind: 'error', summary }), more }]
  if (stopReason !== 'aborted') return []
  const stop = { kind: 'human_intervention', mark: 'interrupt', summary: said || 'stopped' } as const
  return [{ ...note('abort', { stopReason, errorMessage }, stop), more: { ...more, role: 'user' } }]
}

const EXIT = /\bCommand exited with code (\d+)\s*$/
const STOPPED = /(?:^|\n)(?:Command|Operation) aborted\s*$/
/** What clients put behind an output, and a blank line between. */
const FEET = [/^Command exited with code \d+$/, /^Wall time: [\d.]+ seconds$/]

function withoutFeet(text: string): string {
  let rest = text.trimEnd()
  for (const foot of FEET) {
    const at = rest.lastIndexOf('\n') + 1
    if (foot.test(rest.slice(at))) rest = rest.slice(0, at).trimEnd()
  }
  return text.startsWith('\n\n', rest.length) ? rest : text
}

function resultTold(message: Fields): Told {
  const { role, toolCallId, toolName, timestamp, ...raw } = message
  const details = isRecord(raw['details']) ? raw['details'] : {}
  const failed = raw['isError'] === true
  const text = contentText(raw['content']) ?? ''
  const running = isRecord(details['async']) && details['async']['state'] === 'running'
  // A command that ends with another code than 0 is an error to the shell tool.
  const silent = toolName === 'bash' && !failed && !running ? 0 : undefined
  const exitCode = num(details['exitCode']) ?? (failed ? exitCodeIn(text, EXIT) : silent)
  const durationMs = num(details['wallTimeMs'])
  const original = str(details['oldText'])
  const part: Part = {
    is: 'result',
    id: str(toolCallId),
    text: withoutFeet(text),
    failed,
    ...(failed && STOPPED.test(text) && { state: 'stopped' }),
    ...(running && { state: 'background' }),
    ...(exitCode !== undefined && { exitCode }),
    ...(durationMs !== undefined && { durationMs: Math.round(durationMs) }),
    ...(original !== undefined && { original }),
    raw,
  }
  const tool = str(toolName)
  return tool ? { part, more: { tool } } : { part }
}

/** A command that the person ran, with `!`: no call of the agent's. */
function shellTold(message: Fields): Told[] {
  const { role, command, output, timestamp, ...rest } = message
  const line = `! ${str(command) ?? ''}`
  const exitCode = num(rest['exitCode'])
  const said = str(output) ?? ''
  return [
    { ...note('command', { command, ...rest }, { summary: line }), more: { said: line } },
    {
      ...note('output', { output }, { summary: said.trimStart().split('\n', 1)[0] || '(no output)' }),
      more: { role: 'system', ...(said && { said }), ...(exitCode !== undefined && { exitCode }) },
    },
  ]
}

/** What an extension, or the client itself, said to the model. */
export function injected(message: Fields): Told {
  const { role, type, id, parentId, timestamp, ...raw } = message
  const name = str(raw['customType']) ?? str(role) ?? str(type) ?? 'message'
  const said = str(raw['summary']) ?? contentText(raw['content'])
  const mark = role === 'compactionSummary' ? ({ mark: 'compaction' } as const) : {}
  return { ...note(name, raw, mark), more: said ? { said } : {} }
}

/** Input, and what was read from and written to the cache, are apart; what was written for an hour is a part of what was written. */
function tokensIn(usage: Fields): Tokens {
  const kept = isRecord(usage['cttl']) ? usage['cttl'] : {}
  const written = num(usage['cacheWrite']) ?? 0
  const hour = Math.min(written, num(usage['cacheWrite1h']) ?? num(kept['ephemeral1h']) ?? 0)
  return disjointTokens({
    input: usage['input'],
    cacheRead: usage['cacheRead'],
    cacheWrite: written - hour,
    cacheWrite1h: hour,
    output: usage['output'],
    reasoning: usage['reasoning'] ?? usage['reasoningTokens'],
  })
}

/** In 1e-8 USD. Zero is what a model without a price has. */
function costIn(usage: Fields): number | undefined {
  const total = isRecord(usage['cost']) ? num(usage['cost']['total']) : undefined
  return total !== undefined && total > 0 && total < 1e6 ? Math.round(total * 1e8) : undefined
}

/** A response is named by its provider; servers at home repeat their names, so its time goes with it. */
export function* usageIn(
  thread: Thread,
  told: Fields,
  { name, ts }: { name: string; ts: number | null },
): Generator<Item> {
  const { usage, responseId, timestamp } = told
  if (!isRecord(usage)) return
  const tokens = tokensIn(usage)
  if (Object.values(tokens).every((count) => count === 0)) return
  const cost = costIn(usage)
  const id = str(responseId) ? `${str(responseId)}@${String(timestamp)}` : `entry:${name}@${ts}`
  const scope = told['role'] === 'toolResult' ? 'turn' : 'response'
  const more = { event: `${name}#0`, scope, ...(cost !== undefined && { reportedCost: cost }) } as const
  yield usageItem(thread, tokens, {
    id,
    ts,
    model: str(told['responseModel']) ?? str(told['model']) ?? null,
    ...more,
  })
}
