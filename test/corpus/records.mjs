// Made-up records in the shape of three agents, for damages that are built when the test runs.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const CLAUDE_ID = '11111111-1111-4111-8111-111111111111'
export const CODEX_ID = '0199f3aa-0000-7000-8000-000000000001'
export const GROK_ID = '01a1e078-0000-7000-8000-000000000001'
export const CLAUDE_PROJECT = '.claude/projects/-home-dev-proj'
export const CLAUDE = `${CLAUDE_PROJECT}/${CLAUDE_ID}.jsonl`
export const CODEX_DAY = '.codex/sessions/2026/11/15'
export const CODEX = `${CODEX_DAY}/rollout-2026-11-15T12-00-00-${CODEX_ID}.jsonl`
export const GROK_SESSION = `.grok/sessions/%2Fhome%2Fdev%2Fproj/${GROK_ID}`
export const GROK = `${GROK_SESSION}/updates.jsonl`

const uuid = (n) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
const at = (n) => new Date(Date.UTC(2026, 10, 15, 12, 0, n)).toISOString()

/** Odd numbers are prompts, even ones answers. */
export function claude(n, text, more = {}) {
  const isPrompt = n % 2 === 1
  const message = isPrompt
    ? { role: 'user', content: text }
    : { id: `msg_${n}`, role: 'assistant', model: 'claude-opus-5-5', content: [{ type: 'text', text }] }
  return {
    parentUuid: n === 1 ? null : uuid(n - 1),
    isSidechain: false,
    cwd: '/home/dev/proj',
    sessionId: CLAUDE_ID,
    version: '2.1.325',
    type: isPrompt ? 'user' : 'assistant',
    message,
    uuid: uuid(n),
    timestamp: at(n),
    ...more,
  }
}

export const codexMeta = () => ({
  timestamp: at(0),
  type: 'session_meta',
  payload: { id: CODEX_ID, timestamp: at(0), cwd: '/home/dev/proj', cli_version: '0.145.0', source: 'cli' },
})

export const codex = (n, text) => ({
  timestamp: at(n),
  type: 'response_item',
  payload: {
    type: 'message',
    role: n % 2 ? 'user' : 'assistant',
    content: [{ type: n % 2 ? 'input_text' : 'output_text', text }],
  },
})

export const grok = (n, text) => ({
  timestamp: Math.floor(Date.parse(at(n)) / 1000),
  method: '_x.ai/session/update',
  params: {
    sessionId: GROK_ID,
    update: {
      sessionUpdate: n % 2 ? 'user_message_chunk' : 'agent_message_chunk',
      content: { type: 'text', text },
    },
    _meta: { eventId: `${GROK_ID}-${n}`, agentTimestampMs: Date.parse(at(n)) },
  },
})

export const line = (record) => `${JSON.stringify(record)}\n`

/** The text before and after the value of a record's only `"@@"`. */
export const around = (record) => JSON.stringify(record).split('"@@"')

export function put(home, path, content) {
  const file = join(home, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
  return file
}
