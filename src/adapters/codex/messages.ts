// Prompts, answers and reasoning, from whichever of Codex's vocabularies tells them first. Payloads have one shape for
// all of them, so that a copy that only kept the other vocabulary has equal bytes.

import type { EventItem, Item } from '../adapter.ts'
import { remember } from '../kit/bounded.ts'
import { isRecord, list, str } from '../kit/guards.ts'
import { shortHash } from '../kit/text.ts'
import { partsText } from './outputs.ts'
import { resumeAtPrompt } from './resumed.ts'
import { eventAt, firstLine, type Spot } from './state.ts'
import { areTold, isTold, type Side } from './twins.ts'

const MAX_TURNS = 200

// Text the harness puts into the user's mouth.
const FRAGMENT =
  /^\s*(?:<(?:environment_context|user_instructions|turn_aborted|user_shell_command|subagent_notification|skill|codex_internal_context|goal_context|hook_prompt|permissions|collaboration_mode|multi_agent|skills_instructions|apps_instructions|plugins_instructions|user_action|model_switch|personality_spec|recommended_plugins|INSTRUCTIONS)\b|<external_|# AGENTS\.md instructions|# AGENTS\.md\n|Warning: (?:apply_patch was requested via |Your account was flagged for potentially high-risk|The maximum number of unified exec processes))/

/** `message` of any role. */
export function message(spot: Spot): Item[] {
  const role = str(spot.payload['role'])
  const content = contentOf(spot.payload)
  if (role === 'assistant') {
    if (spot.metadata['compaction_output'] === true) return [harnessText(spot, content, 'compaction summary')]
    const letter = letterIn(partsText(content))
    if (letter) return agentLetter(spot, letter)
    return answer(spot, 'item', content, str(spot.payload['id']), str(spot.payload['phase']))
  }
  const prompt = role === 'user' ? promptOf(spot, content) : undefined
  const typed = prompt === undefined && role === 'user' ? shellCommand(spot, content) : undefined
  if (typed) return [typed]
  if (prompt === undefined) return [...cwdFrom(spot, content), contextText(spot, content, role)]
  return userPrompt(spot, 'item', prompt, { content })
}

/** Content as a list, without the fields that are always empty. */
function contentOf(payload: Record<string, unknown>): unknown[] {
  const content = payload['content']
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return list(content).map((part) => {
    if (!isRecord(part)) return part
    return Object.fromEntries(
      Object.entries(part).filter(
        ([, value]) => value !== null && !(Array.isArray(value) && value.length === 0),
      ),
    )
  })
}

/** The text a person wrote, or undefined where the whole message comes from the harness. */
function promptOf(spot: Spot, content: unknown[]): string | undefined {
  const passed = spot.payload['internal_chat_message_metadata_passthrough']
  const kinds = isRecord(passed) ? list(passed['content_item_kinds']) : []
  const written = content.filter((part, at) => {
    if (isLabel(content, at)) return false
    const kind = str(kinds[at])
    if (kind !== undefined) return kind.startsWith('user.')
    return isRecord(part) && !FRAGMENT.test(str(part['text']) ?? '')
  })
  return written.length > 0 ? partsText(written) : undefined
}

const MEDIA = /^input_(?:image|audio)$/

/** Attached pictures stand between two texts, `<image …>` and `</image>`, that nobody typed. */
function isLabel(content: unknown[], at: number): boolean {
  const [before, part, after] = [content[at - 1], content[at], content[at + 1]]
  const isMedia = (one: unknown): boolean => isRecord(one) && MEDIA.test(str(one['type']) ?? '')
  const text = isRecord(part) ? (str(part['text']) ?? '') : ''
  if (/^<\/(?:image|audio)>$/.test(text)) return isMedia(before)
  return /^<(?:image|audio)[ >]/.test(text) && text.endsWith('>') && isMedia(after)
}

const SHELL_COMMAND = /^\s*<user_shell_command>\n<command>\n([\s\S]*?)\n<\/command>/

/** A command that a person ran with `!`. Since 0.147 an item of its own tells it, better and first. */
function shellCommand(spot: Spot, content: unknown[]): EventItem | undefined {
  const text = partsText(content)
  const command = SHELL_COMMAND.exec(text)?.[1]
  if (command === undefined) return undefined
  if (spot.state.shellItems > 0) {
    spot.state.shellItems--
    return undefined
  }
  const exit = /\n<result>\nExit code: (-?\d+)\n/.exec(text)
  const event = eventAt(spot, {
    origin: originOf(spot, 'shell', text),
    // It sets nothing off.
    kind: (spot.state.turnPrompts ?? 0) > 0 ? 'human_intervention' : 'lifecycle',
    role: 'user',
    summary: `! ${firstLine(command)}`,
    said: typedAndGiven(command, text),
    payload: { type: 'message', role: 'user', content },
  })
  return exit ? { ...event, exitCode: Number(exit[1]) } : event
}

const RESULT = '\n<result>\n'
const RESULT_HEAD = /^(?:Exit code: [^\n]*\n)?(?:Duration: [^\n]*\n)?(?:Output:\n)?/

/** What a person would see of it. */
function typedAndGiven(command: string, text: string): string {
  const [from, to] = [text.indexOf(RESULT), text.lastIndexOf('\n</result>')]
  const given = from === -1 || to < from ? '' : text.slice(from + RESULT.length, to).replace(RESULT_HEAD, '')
  return given === '' ? command : `${command}\n${given}`
}

/** Files before 0.32 name their directory only in the context they show the model. */
function cwdFrom(spot: Spot, content: unknown[]): Item[] {
  if (spot.state.hasCwd) return []
  const cwd = /<cwd>([^<]+)<\/cwd>|Current working directory: (.+)/.exec(partsText(content))
  const path = cwd?.[1] ?? cwd?.[2]
  if (!path) return []
  spot.state.hasCwd = true
  return [{ type: 'session', session: spot.session, cwd: path.trim() }]
}

/** Instructions of the client to the model are messages of their own, under a role that is not the person's. */
function contextText(spot: Spot, content: unknown[], role: string | undefined): EventItem {
  const event = harnessText(spot, content, `${role ?? 'unnamed'} context`)
  return role === 'developer' ? { ...event, kind: 'user_msg' } : event
}

function harnessText(spot: Spot, content: unknown[], what: string): EventItem {
  const text = partsText(content)
  const role = str(spot.payload['role'])
  return eventAt(spot, {
    origin: originOf(spot, 'context', text),
    kind: 'lifecycle',
    role: 'system',
    summary: `${what}: ${firstLine(text)}`,
    payload: { type: 'message', role, content },
  })
}

const originOf = (spot: Spot, what: string, text: string): string =>
  `${what}:${str(spot.payload['id']) ?? shortHash(text)}`

const CONTEXT =
  /^\s*##? (?:Context from my IDE setup|Files mentioned by the user|Code review guidelines|My request for Codex)\b/
const REQUEST = '## My request for Codex:'

/** Editors and the desktop program put what is open and attached before the prompt, in the same text. */
function withoutContext(text: string): string {
  const at = CONTEXT.test(text) ? `\n${text}`.indexOf(`\n${REQUEST}`) : -1
  return at === -1 ? text : text.slice(at + REQUEST.length).trim()
}

export function userPrompt(spot: Spot, side: Side, whole: string, body: Record<string, unknown>): Item[] {
  if (isTold(spot.state, side, 'user', whole)) return []
  const text = withoutContext(whole)
  spot.state.isStopped = false
  // The turn that runs has its prompt already: this one was typed into it.
  const isMidTurn = (spot.state.turnPrompts ?? 0) > 0
  if (spot.state.turnPrompts !== null) spot.state.turnPrompts++
  const event = eventAt(spot, {
    origin: originOf(spot, 'prompt', whole),
    kind: isMidTurn ? 'human_intervention' : 'user_msg',
    role: 'user',
    summary: firstLine(text) || '(no text)',
    payload: { type: 'message', role: 'user', ...body },
  })
  if (text) event.said = text
  remember(spot.state.turns, event.key, MAX_TURNS)
  return [...resumeAtPrompt(spot), event]
}

const HIDDEN =
  /<oai-mem-citation>[\s\S]*?(?:<\/oai-mem-citation>|$)|<proposed_plan>[\s\S]*?(?:<\/proposed_plan>|$)/g

/** What the screen shows of an answer, to compare: a plan is told as an item of its own, and parts are put together without a break. */
const shown = (text: string): string => text.replace(HIDDEN, '').replace(/\s+/g, '')

export function answer(
  spot: Spot,
  side: Side,
  content: unknown[],
  id: string | undefined,
  phase: string | undefined,
): Item[] {
  const text = partsText(content)
  if (isTold(spot.state, side, 'assistant', shown(text))) return []
  const payload: Record<string, unknown> = { type: 'message', role: 'assistant', content }
  if (id) payload['id'] = id
  if (phase) payload['phase'] = phase
  const event = eventAt(spot, {
    origin: `answer:${id ?? shortHash(text)}`,
    kind: 'assistant_msg',
    role: 'assistant',
    summary: firstLine(text),
    payload,
  })
  if (text) event.said = text
  return [event]
}

/** Reasoning; what is encrypted says nothing to anybody and is left out. */
export function reasoning(spot: Spot, side: Side, parts: string[], id: string | undefined): Item[] {
  const marks = parts.length > 0 ? parts : id ? [`encrypted ${id}`] : []
  if (areTold(spot.state, side, marks)) return []
  const text = parts.length === 1 ? parts[0] : parts.join('\n\n')
  const payload: Record<string, unknown> = { type: 'reasoning', summary: parts }
  if (id) payload['id'] = id
  if (parts.length === 0) payload['encrypted'] = true
  const event = eventAt(spot, {
    origin: `reasoning:${id ?? shortHash(text || (str(spot.payload['encrypted_content']) ?? ''))}`,
    kind: 'thinking',
    role: 'assistant',
    summary: firstLine(text ?? '') || 'reasoning (encrypted)',
    payload,
  })
  if (text) event.said = parts.join('\n')
  return [event]
}

/** Texts of `summary` and `content` of a reasoning item. */
export function reasoningParts(...lists: unknown[]): string[] {
  return lists.flatMap((parts) =>
    list(parts).flatMap((part) => {
      const text = isRecord(part) ? str(part['text']) : str(part)
      return text ? [text] : []
    }),
  )
}

/** Before they had an item of their own, messages between agents stood as JSON in the mouth of the assistant. */
function letterIn(text: string): Record<string, unknown> | undefined {
  if (!text.startsWith('{') || !text.includes('"trigger_turn"')) return undefined
  try {
    const letter: unknown = JSON.parse(text)
    const isLetter =
      isRecord(letter) && typeof letter['trigger_turn'] === 'boolean' && !!str(letter['author'])
    return isLetter && str(letter['recipient']) ? letter : undefined
  } catch {
    return undefined
  }
}

/** A message between agents that says itself whether it begins a turn. */
export function agentLetter(spot: Spot, letter: Record<string, unknown>): Item[] {
  const { id, author, recipient, content, trigger_turn } = letter
  spot.state.triggersTurn = trigger_turn === true
  return agentMessage({ ...spot, payload: { id, author, recipient, content } })
}

/** Kind, task and sender stand above what one agent has to say to another. */
const LETTERHEAD = /^Message Type: [^\n]*\n(?:[A-Z][^\n:]*: [^\n]*\n)*Payload:\n/

/** What was asked may be encrypted; then the task still has its name. */
function gistOf(text: string): string {
  const said = firstLine(text.replace(LETTERHEAD, ''))
  return said || (/^Task name: (.+)$/m.exec(text)?.[1] ?? firstLine(text))
}

/** A message between agents: to a sub-agent it is its prompt, otherwise news. */
export function agentMessage(spot: Spot): Item[] {
  const content = contentOf(spot.payload)
  const text = partsText(content)
  const isTask = spot.state.isSubagent && spot.state.triggersTurn
  spot.state.triggersTurn = false
  const author = str(spot.payload['author'])
  const event = eventAt(spot, {
    origin: originOf(spot, 'agent_message', text),
    kind: isTask ? 'user_msg' : 'lifecycle',
    role: isTask ? 'user' : 'system',
    summary: `${author ?? 'an agent'}: ${gistOf(text)}`,
    payload: { type: 'agent_message', author, recipient: spot.payload['recipient'], content },
  })
  // What was asked may be encrypted.
  const said = text.replace(LETTERHEAD, '') || text
  if (said) event.said = said
  if (author) event.agent = author
  if (isTask) remember(spot.state.turns, event.key, MAX_TURNS)
  return [event]
}
