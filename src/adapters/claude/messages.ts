// `user` and `assistant` lines: each content block becomes one event. The line's own fields go with its first event.
import { edgeItem } from '../kit/facts.ts'
import { isRecord, list, num, str } from '../kit/guards.ts'
import { contentText, firstLine } from '../kit/text.ts'
import { kindOfCommand } from './commands.ts'
import { answerIn, commandLine, whoSaid } from './human.ts'
import { bare, type Draft, type Line } from './line.ts'
import { askedEnd, taskEnd } from './tasks.ts'
import { callDraft, resultDraft, resultExtras } from './tools.ts'
import { SYNTHETIC } from './usage.ts'

export function messageDrafts(line: Line): Draft[] {
  const message = isRecord(line.record['message']) ? line.record['message'] : {}
  const blocks = blocksOf(message['content'])
  const drafts =
    line.type === 'assistant'
      ? blocks.map((block, index) => assistantDraft(line, message, block, index))
      : userDrafts(line, blocks)
  const first: Draft = drafts[0] ?? {
    kind: 'lifecycle',
    role: line.type === 'assistant' ? 'assistant' : 'user',
    summary: '(empty message)',
    payload: {},
  }
  const record = resultExtras(line.record, blocks[0])
  const facts = bare(message, 'content', 'role', 'type')
  first.payload = { ...first.payload, ...filled('record', record), ...filled('message', facts) }
  // Up to 1.0: how long the response took.
  const durationMs = line.type === 'assistant' ? num(line.record['durationMs']) : undefined
  if (durationMs !== undefined) first.durationMs ??= durationMs
  return [first, ...drafts.slice(1)]
}

function filled(name: string, fields: Record<string, unknown>): Record<string, unknown> {
  return Object.keys(fields).length > 0 ? { [name]: fields } : {}
}

/** A bare string and a list with one text block are the same message: forks of old versions turn one into the other. */
function blocksOf(content: unknown): Record<string, unknown>[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return list(content).map((block) => {
    if (isRecord(block)) return block
    return typeof block === 'string' ? { type: 'text', text: block } : { type: '(none)', value: block }
  })
}

function assistantDraft(
  line: Line,
  message: Record<string, unknown>,
  block: Record<string, unknown>,
  index: number,
): Draft {
  const type = str(block['type']) ?? '(none)'
  if (type === 'text') {
    const text = str(block['text']) ?? ''
    const said: Draft = {
      kind: 'assistant_msg',
      role: 'assistant',
      summary: firstLine(text),
      said: text,
      payload: block,
    }
    if (line.record['isApiErrorMessage'] === true) return { ...said, kind: 'error', role: 'system' }
    // Fillers the client writes to keep roles alternating; no model said them.
    if (message['model'] === SYNTHETIC)
      return { kind: 'lifecycle', role: 'system', summary: said.summary, payload: block }
    return said
  }
  if (type === 'thinking') {
    const text = str(block['thinking']) ?? ''
    const { signature, ...payload } = block
    const draft: Draft = { kind: 'thinking', role: 'assistant', summary: firstLine(text), payload }
    if (text === '') draft.summary = '(thinking not shown)'
    else draft.said = text
    if (typeof signature === 'string') draft.payload = { ...payload, signatureLength: signature.length }
    const durationMs = num(line.record['thinkingDurationMs'])
    if (durationMs !== undefined) draft.durationMs = durationMs
    return draft
  }
  if (type === 'redacted_thinking')
    return { kind: 'thinking', role: 'assistant', summary: '(redacted thinking)', payload: block }
  if (type === 'tool_use' || type === 'server_tool_use' || type === 'mcp_tool_use')
    return callDraft(line, block, index)
  if (type.endsWith('tool_result')) return resultDraft(line, block, undefined)
  return unknownBlock(line, type, block, 'assistant')
}

function userDrafts(line: Line, blocks: Record<string, unknown>[]): Draft[] {
  const results = blocks.filter((block) => block['type'] === 'tool_result').length
  const ends: Draft[] = []
  const drafts = blocks.map((block): Draft => {
    const type = str(block['type']) ?? '(none)'
    if (type === 'tool_result') {
      const outcome = results === 1 ? line.record['toolUseResult'] : undefined
      ends.push(...askedEnd(line, outcome, contentText(block['content']) ?? ''))
      return resultDraft(line, block, outcome)
    }
    if (type === 'text') return saidDraft(line, block, str(block['text']) ?? '', results > 0)
    if (type === 'image' || type === 'document') return pictureDraft(line, block, type, results > 0)
    if (type === 'tool_reference') {
      const name = str(block['tool_name']) ?? 'tool'
      return { kind: 'lifecycle', role: 'system', summary: `[tool: ${name}]`, payload: block }
    }
    return unknownBlock(line, type, block, 'user')
  })
  return [...drafts, ...ends]
}

/** What stands beside a result was put there by the client. */
function saidDraft(
  line: Line,
  block: Record<string, unknown>,
  whole: string,
  isBesideResult: boolean,
): Draft {
  const { by: speaker, text } = whoSaid(line.record, whole)
  const by = isBesideResult && speaker === 'human' ? 'answer' : speaker
  const draft: Draft = { kind: 'lifecycle', role: 'user', summary: firstLine(text), payload: block }
  switch (by) {
    case 'human':
      return { ...draft, kind: 'user_msg', said: text }
    case 'interrupt':
      return { ...draft, kind: 'human_intervention', mark: 'interrupt' }
    case 'shutdown':
      return {
        ...draft,
        role: 'system',
        summary: 'interrupted by the end of the process',
        mark: 'shutdown',
      }
    case 'command': {
      noteClear(line, text)
      line.isCommand = true
      const typed = commandLine(text)
      return { ...draft, kind: kindOfCommand(text), summary: firstLine(typed), said: typed }
    }
    case 'answer':
      return { ...draft, role: 'system', said: answerIn(text), ...taskEnd(text) }
    case 'injected':
      return { ...draft, role: 'system' }
  }
}

/** `/clear` starts a new file with itself as the first thing said. */
function noteClear(line: Line, text: string): void {
  if (!text.includes('<command-name>/clear<') || line.isSidechain) return
  const { state } = line
  if (state.prompts.length > 0 || state.facts.model !== undefined) return
  line.items.push(edgeItem('cleared', state.session, null, line.ts, `${line.key}#0`))
}

function pictureDraft(
  line: Line,
  block: Record<string, unknown>,
  type: string,
  isBesideResult: boolean,
): Draft {
  const source = isRecord(block['source']) ? block['source'] : {}
  const title = str(block['title']) ?? str(source['media_type']) ?? 'unknown type'
  const isShown = !isBesideResult && whoSaid(line.record, '').by === 'human'
  const kind = isShown ? 'user_msg' : 'lifecycle'
  return { kind, role: 'user', summary: `[${type}: ${title}]`, payload: block }
}

function unknownBlock(line: Line, type: string, block: Record<string, unknown>, role: Draft['role']): Draft {
  line.items.push({ type: 'unknown', name: `block ${type}` })
  const draft: Draft = { kind: 'lifecycle', role, summary: `[${type}]`, payload: block }
  const text = contentText(block['content']) ?? str(block['text'])
  return text ? { ...draft, said: text } : draft
}
