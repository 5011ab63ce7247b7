// Every line that is not a message: system notices, attachments, and the client's own bookkeeping.
// Bookkeeping stays findable by kind and payload but carries no text: most of its bytes repeat the conversation.
import { remember } from '../kit/bounded.ts'
import { isRecord, num, str } from '../kit/guards.ts'
import { contentText, firstLine, wordList } from '../kit/text.ts'
import { answerIn, commandLine } from './human.ts'
import { bare, type Draft, type Line } from './line.ts'
import { queueDraft } from './queue.ts'
import { taskEnd } from './tasks.ts'

const SYSTEM_KINDS = new Map<string, Draft['kind']>([
  ['api_error', 'retry'],
  ['error', 'error'],
  ['api_refusal', 'error'],
  ['model_refusal_fallback', 'error'],
])
const SYSTEM_NOTICES = new Set(
  wordList(`
  turn_duration model_consent_fallback local_command compact_boundary microcompact_boundary
  stop_hook_summary away_summary informational bridge_status session_start`),
)

export function systemDrafts(line: Line): Draft[] {
  const { record } = line
  const subtype = str(record['subtype']) ?? ''
  const content = str(record['content'])
  const draft: Draft = {
    kind: SYSTEM_KINDS.get(subtype) ?? 'lifecycle',
    role: 'system',
    summary: firstLine(content ?? '') || subtype || 'system',
    payload: bare(record),
  }
  const tool = str(record['toolUseID'])
  if (tool !== undefined) draft.callId = tool
  if (subtype === 'api_error') return [apiError(record, draft)]
  if (subtype === 'turn_duration') return [turnDuration(line, draft)]
  if (subtype === 'local_command' && content?.startsWith('<command-name>'))
    return [{ ...draft, role: 'user', summary: commandLine(content), said: commandLine(content) }]
  if (content && subtype !== 'compact_boundary') draft.said = answerIn(content)
  if (subtype === 'compact_boundary' || subtype === 'microcompact_boundary')
    return [compaction(record, subtype, draft)]
  if (subtype !== '' && !SYSTEM_KINDS.has(subtype) && !SYSTEM_NOTICES.has(subtype))
    line.items.push({ type: 'unknown', name: `system/${subtype}` })
  return [draft]
}

function apiError(record: Record<string, unknown>, draft: Draft): Draft {
  const error = isRecord(record['error']) ? record['error'] : {}
  const status = error['status'] === undefined ? '' : `status ${String(error['status'])}`
  const what = str(error['formatted']) ?? wordsOf(error) ?? wordsOf(record) ?? status
  const attempt = record['retryAttempt']
  const last = typeof attempt === 'number' && attempt === record['maxRetries']
  const summary = `API error, attempt ${String(attempt ?? '?')} of ${String(record['maxRetries'] ?? '?')}: ${firstLine(what) || 'unknown'}`
  return { ...draft, kind: last ? 'error' : 'retry', summary, ...(what === '' ? {} : { said: what }) }
}

const MAX_DEPTH = 4

/** The message of an error, which providers and gateways wrap several times; of a broken connection its code. */
function wordsOf(error: Record<string, unknown>, depth = MAX_DEPTH): string | undefined {
  const message = str(error['message'])
  if (message || depth === 0) return message
  const cause = isRecord(error['cause']) ? error['cause'] : {}
  const inner = isRecord(error['error']) ? wordsOf(error['error'], depth - 1) : undefined
  return inner ?? str(cause['message']) ?? str(cause['code'])
}

/** Only terminals write it. Behind an answer it says nothing new of the end. */
function turnDuration({ record, state }: Line, draft: Draft): Draft {
  const ended: Draft = { ...draft, kind: state.closing ? draft.kind : 'completion', mark: 'turn-end' }
  const { durationMs } = record
  if (typeof durationMs !== 'number') return ended
  return { ...ended, summary: `turn took ${durationMs} ms`, durationMs }
}

function compaction(record: Record<string, unknown>, subtype: string, draft: Draft): Draft {
  const told = record['compactMetadata'] ?? record['microcompactMetadata']
  const facts = isRecord(told) ? told : {}
  const what = subtype === 'compact_boundary' ? 'conversation compacted' : 'tool results cleared'
  const durationMs = num(facts['durationMs'])
  return {
    ...draft,
    summary: `${what} (${str(facts['trigger']) ?? 'unknown'})`,
    ...(subtype === 'compact_boundary' && { mark: 'compaction' }),
    ...(durationMs === undefined ? {} : { durationMs }),
  }
}

/** Attachments that tell the model about its surroundings; `rendered` says the same again in prose. */
const SURROUNDINGS = new Set(
  wordList(`
  environment model deferred_tools_delta agent_listing_delta skill_listing session_context date
  date_change remote_session_change prompt_snapshot mcp_instructions_delta auto_mode total_tokens_reminder
  todo_reminder task_reminder`),
)
const ATTACHMENTS = new Set([
  ...SURROUNDINGS,
  'hook_success',
  'hook_additional_context',
  'hook_blocking_error',
  'hook_non_blocking_error',
  'hook_cancelled',
  'hook_error_during_execution',
  'hook_stopped_continuation',
  'hook_system_message',
  'hook_permission_decision',
  'queued_command',
  'edited_text_file',
  'edited_image_file',
  'file',
  'directory',
  'already_read_file',
  'compact_file_reference',
  'selected_lines_in_ide',
  'opened_file_in_ide',
  'diagnostics',
  'nested_memory',
  'relevant_memories',
  'dynamic_skill',
  'invoked_skills',
  'plan_mode',
  'plan_mode_reentry',
  'plan_mode_exit',
  'plan_file_reference',
  'auto_mode_exit',
  'ultra_effort_enter',
  'ultra_effort_exit',
  'task_status',
  'command_permissions',
  'companion_intro',
  'read_truncation_notice',
  'budget_usd',
  'batching_reminder_sent',
  'silent_turn_reminder',
  'critical_system_reminder',
  'output_style',
  'mcp_resource',
  'structured_output',
])

export function attachmentDrafts(line: Line): Draft[] {
  const attachment = isRecord(line.record['attachment']) ? line.record['attachment'] : {}
  const type = str(attachment['type']) ?? '(none)'
  if (!ATTACHMENTS.has(type)) line.items.push({ type: 'unknown', name: `attachment/${type}` })
  const draft: Draft = {
    kind: 'lifecycle',
    role: 'system',
    summary: type,
    payload: bare(line.record, 'type'),
  }
  if (SURROUNDINGS.has(type)) draft.payload = bare(line.record, 'type', 'rendered')
  if (type.startsWith('hook_')) Object.assign(draft, ranAs(attachment))
  if (type === 'prompt_snapshot') {
    // The whole system prompt and every tool, again at each turn: `api-request-shape` has them once.
    draft.payload['attachment'] = { ...bare(attachment, 'systemPrompt', 'tools'), leftOutBytes: line.bytes }
  } else if (type === 'queued_command') return [queued(attachment, draft)]
  else if (
    type === 'hook_blocking_error' ||
    type === 'hook_non_blocking_error' ||
    type === 'hook_error_during_execution'
  )
    return [hookError(attachment, draft)]
  else if (type === 'edited_text_file') {
    const file = str(attachment['filename'])
    // By a person, a formatter, a merge: the client does not know.
    draft.summary = `changed on disk: ${file ?? 'a file'}`
    if (file !== undefined) draft.files = [file]
  } else if (type === 'file') draft.summary = `file ${str(attachment['filename']) ?? ''}`
  return [draft]
}

/** What a person typed while the agent was working; the client also queues its own notices. */
function queued(attachment: Record<string, unknown>, draft: Draft): Draft {
  const prompt = contentText(attachment['prompt']) ?? ''
  const origin = isRecord(attachment['origin']) ? str(attachment['origin']['kind']) : undefined
  const mode = str(attachment['commandMode']) ?? 'prompt'
  const typed =
    attachment['isMeta'] !== true && (origin ?? 'human') === 'human' && mode !== 'task-notification'
  const heard: Draft = { ...draft, summary: firstLine(prompt), ...(prompt === '' ? {} : { said: prompt }) }
  return typed ? { ...heard, kind: 'human_intervention', role: 'user' } : { ...heard, ...taskEnd(prompt) }
}

function hookError(attachment: Record<string, unknown>, draft: Draft): Draft {
  const nested = isRecord(attachment['blockingError']) ? attachment['blockingError'] : {}
  const text = str(nested['blockingError']) ?? str(attachment['stderr']) ?? str(attachment['stdout']) ?? ''
  const name = str(attachment['hookName']) ?? str(attachment['hookEvent']) ?? 'a'
  return {
    ...draft,
    kind: 'error',
    mark: 'hook',
    summary: `${name} hook failed: ${firstLine(text)}`,
    ...(text === '' ? {} : { said: text }),
  }
}

function ranAs(attachment: Record<string, unknown>): Pick<Draft, 'exitCode' | 'durationMs'> {
  const exitCode = num(attachment['exitCode'])
  const durationMs = num(attachment['durationMs'])
  return {
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(durationMs === undefined ? {} : { durationMs }),
  }
}

const BOOKKEEPING = new Set(
  wordList(`
  api-request api-request-shape agent-name agent-setting agent-color last-prompt queue-operation
  file-history-snapshot file-history-delta worktree-state relocated bridge-session content-replacement
  atis-latch cost-state tools-used artifact-autoreact-ledger artifact-comment-monitor teleported-from
  launched started result`),
)

/** Record types without a place of their own in the chain, and those nobody has described. */
export function otherDrafts(line: Line): Draft[] {
  const { record, type } = line
  const draft: Draft = { kind: 'lifecycle', role: 'system', summary: type, payload: bare(record) }
  switch (type) {
    case 'progress':
      return [progress(line, draft)]
    case 'api-request-blob':
      // The conversation once more, as sent: every text of it stands in lines of its own.
      return [{ ...draft, payload: { ...bare(record, 'message'), leftOutBytes: line.bytes } }]
    case 'mode':
    case 'permission-mode':
      return [{ ...draft, summary: `${type}: ${str(record['permissionMode']) ?? str(record['mode']) ?? ''}` }]
    case 'custom-title':
    case 'ai-title':
      return title(line, draft)
    case 'summary':
      return [summary(line, draft)]
    case 'pr-link':
    case 'frame-link': {
      const request = str(record['prUrl'])
      const link = request ?? str(record['frameUrl']) ?? ''
      return [
        {
          ...draft,
          kind: 'completion',
          summary: `${type} ${link}`.trim(),
          ...(link && { said: link }),
          ...(request && { made: { commits: [], pullRequests: [request] } }),
        },
      ]
    }
    case 'queue-operation':
      return [queueDraft(line, draft)]
    case 'tag': {
      const tag = str(record['tag'])
      return [tag ? { ...draft, summary: `tag: ${tag}`, said: tag } : draft]
    }
    case 'worktree-state':
    case 'relocated':
      return [{ ...draft, summary: `${type} ${str(record['relocatedCwd']) ?? ''}`.trim() }]
  }
  if (!BOOKKEEPING.has(type)) line.items.push({ type: 'unknown', name: type })
  return [draft]
}

/** A sub-agent's message stands here too, one by one. Its own file, which a search looks into, may be lost. */
function progress(line: Line, draft: Draft): Draft {
  const { normalizedMessages, ...data } = isRecord(line.record['data']) ? line.record['data'] : {}
  const summary = `progress: ${str(data['type']) ?? '?'}`
  return normalizedMessages === undefined
    ? { ...draft, summary }
    : { ...draft, summary, payload: { ...draft.payload, data } }
}

/** Titles are appended again and again; the fact of the session says it all. */
function title(line: Line, draft: Draft): Draft[] {
  const byPerson = line.type === 'custom-title'
  const text = str(line.record[byPerson ? 'customTitle' : 'aiTitle'])
  if (!text || line.reader.place.kind !== 'main') return [draft]
  line.items.push({
    type: 'session',
    session: line.state.session,
    title: text,
    ...(byPerson ? { titleByPerson: true } : {}),
  })
  return []
}

/** Old versions wrote down what came back when they asked for a title. */
const IS_ERROR =
  /^(?:API Error\b|Invalid API key\b|Credit balance is too low|Claude (?:AI )?usage limit reached)/

/** A summary may describe another session: it is a title only if its leaf is in this file. */
function summary(line: Line, draft: Draft): Draft {
  const text = str(line.record['summary'])
  const leaf = str(line.record['leafUuid'])
  if (text && leaf && !IS_ERROR.test(text)) {
    if (line.state.recent.includes(leaf)) nameSession(line, text)
    else remember(line.state.titles, [leaf, text])
  }
  return { ...draft, summary: firstLine(text ?? '') || 'summary' }
}

export function nameSession(line: Line, text: string): void {
  line.items.push({ type: 'session', session: line.state.session, title: text })
}
