import { around, CLAUDE, CODEX, claude, codex, codexMeta, GROK, GROK_SESSION, grok, line, put } from '../records.mjs'

const nested = (depth, open = '[', close = ']') => `${open.repeat(depth)}1${close.repeat(depth)}`
const deep = (record, depth, open, close) => around(record).join(nested(depth, open, close))

export function make(home) {
  const call = { type: 'assistant', message: { id: 'm', role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'Bash', input: '@@' }] } }
  put(home, CLAUDE, [
    line(claude(1, 'first')).trimEnd(),
    deep(claude(2, '', call), 500, '{"a":', '}'),
    deep(claude(4, '', call), 9_000, '{"a":', '}'),
    deep(claude(6, '', call), 45_000),
    deep(claude(8, '', call), 1_000_000),
    deep({ type: 'unheard-of', value: '@@' }, 30_000),
    line(claude(9, 'ninth')),
  ].join('\n'))
  put(home, CODEX, `${line(codexMeta())}${deep({ timestamp: '2026-11-15T12:00:01.000Z', type: 'response_item', payload: { type: 'function_call_output', call_id: 'c', output: '@@' } }, 40_000)}\n${line(codex(1, 'first'))}`)
  put(home, GROK, `${line(grok(1, 'first'))}${deep({ method: 'x', params: '@@' }, 40_000)}\n${line(grok(2, 'second'))}`)
  put(home, `${GROK_SESSION}/events.jsonl`, `${deep({ ts: '2026-11-15T12:00:01.000Z', type: 'turn_ended', outcome: 'completed', more: '@@' }, 40_000)}\n`)
}
