// Messages as pi's model library writes them, for its own files and those of others who use it.
import type { Tokens } from '../../model.ts'
import type { Item } from '../adapter.ts'
import { usageItems } from '../kit/facts.ts'
import { type Fields, fields, isRecord, num, str } from '../kit/guards.ts'
import { INTERRUPT } from '../kit/messages.ts'
import { otherPart, type Part, partsOf, type ResultPart } from '../kit/parts.ts'
import { type Speaker, speakerOf } from '../kit/shapes.ts'
import { contentText } from '../kit/text.ts'
import type { Thread } from '../kit/thread.ts'
import { disjointTokens } from '../kit/tokens.ts'
import { exitCodeIn } from '../kit/tools.ts'

export interface Spoken {
  speaker: Speaker
  parts: Part[]
  /** The message's other fields. */
  facts: Fields
}

export function spokenIn(message: Fields): Spoken {
  const { role, content, timestamp, model, ...facts } = message
  switch (role) {
    case 'toolResult':
      return { speaker: 'tool', parts: [resultPart(message)], facts: {} }
    case 'bashExecution':
      return { speaker: 'user', parts: shellParts(message), facts: {} }
    case 'custom':
    case 'hookMessage':
    case 'branchSummary':
    case 'compactionSummary':
      return { speaker: 'system', parts: [injected(message)], facts: {} }
  }
  const parts = partsOf(content).map(withoutSignature)
  const speaker = speakerOf(role)
  if (speaker === 'user') return { speaker, parts: parts.map(typedPart), facts }
  if (speaker !== undefined) return { speaker, parts: [...parts, ...endParts(message)], facts }
  const name = `message ${str(role) ?? 'without role'}`
  return {
    speaker: 'system',
    parts: [otherPart(name, message, { summary: name, isKnown: false })],
    facts: {},
  }
}

function withoutSignature(part: Part): Part {
  const { thinkingSignature: signature, ...raw } = part.raw
  return typeof signature === 'string'
    ? { ...part, raw: { ...raw, signatureLength: signature.length } }
    : part
}

const ATTACHED = /^(?:<file name="[^"\n]*">.*?<\/file>\n)+/s

/** Files named on the command line stand before the person's words. */
const typedPart = (part: Part): Part =>
  part.is === 'text' ? { ...part, text: part.text.replace(ATTACHED, '') || part.text } : part

/** What is told of an answer that did not come to its end. */
function endParts({ stopReason, errorMessage }: Fields): Part[] {
  const said = str(errorMessage)
  const raw = { stopReason, errorMessage }
  const more = said ? { said } : {}
  if (stopReason === 'error')
    return [otherPart('error', raw, { kind: 'error', summary: said || 'the request failed', more })]
  if (stopReason !== 'aborted') return []
  return [otherPart('abort', raw, { summary: said || 'stopped', more: { ...more, ...INTERRUPT } })]
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

function resultPart(message: Fields): ResultPart {
  const { role, toolCallId, toolName, timestamp, ...raw } = message
  const details = isRecord(raw['details']) ? raw['details'] : {}
  const failed = raw['isError'] === true
  const text = contentText(raw['content']) ?? ''
  const running = isRecord(details['async']) && details['async']['state'] === 'running'
  // A command that ends with another code than 0 is an error to the shell tool.
  const silent = toolName === 'bash' && !failed && !running ? 0 : undefined
  const exitCode = num(details['exitCode']) ?? (failed ? exitCodeIn(text, EXIT) : silent)
  const durationMs = num(details['wallTimeMs'])
  const tool = str(toolName)
  return {
    is: 'result',
    id: str(toolCallId),
    text: withoutFeet(text),
    failed,
    state: running ? 'background' : failed && STOPPED.test(text) ? 'stopped' : undefined,
    exitCode,
    durationMs: durationMs === undefined ? undefined : Math.round(durationMs),
    original: str(details['oldText']),
    more: tool ? { tool } : {},
    raw,
  }
}

/** A command that the person ran, with `!`: no call of the agent's. */
function shellParts(message: Fields): Part[] {
  const { role, command, output, timestamp, ...rest } = message
  const line = `! ${str(command) ?? ''}`
  const exitCode = num(rest['exitCode'])
  const said = str(output) ?? ''
  const summary = said.trimStart().split('\n', 1)[0] || '(no output)'
  const more = { role: 'system', ...(said && { said }), ...(exitCode !== undefined && { exitCode }) } as const
  return [
    otherPart('command', { command, ...rest }, { summary: line, more: { said: line } }),
    otherPart('output', { output }, { summary, more }),
  ]
}

/** What an extension, or the client itself, said to the model. */
export function injected(message: Fields): Part & { is: 'other' } {
  const { role, type, id, parentId, timestamp, ...raw } = message
  const name = str(raw['customType']) ?? str(role) ?? str(type) ?? 'message'
  const said = str(raw['summary']) ?? contentText(raw['content'])
  const mark = role === 'compactionSummary' ? ({ mark: 'compaction' } as const) : {}
  return otherPart(name, raw, { summary: name, ...mark, more: said ? { said } : {} })
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

function costIn(usage: Fields): number | undefined {
  const total = num(fields(usage['cost'])['total'])
  return total !== undefined && total < 1e6 ? total : undefined
}

/** A response is named by its provider; servers at home repeat their names, so its time goes with it. */
export function* usageIn(
  thread: Thread,
  told: Fields,
  { name, ts }: { name: string; ts: number | null },
): Generator<Item> {
  const { usage, responseId, timestamp } = told
  if (!isRecord(usage)) return
  yield* usageItems(thread, tokensIn(usage), {
    id: str(responseId) ? `${str(responseId)}@${String(timestamp)}` : `entry:${name}@${ts}`,
    ts,
    model: str(told['responseModel']) ?? str(told['model']) ?? null,
    event: `${name}#0`,
    scope: told['role'] === 'toolResult' ? 'turn' : 'response',
    usd: costIn(usage),
  })
}
