import { CLAUDE, CLAUDE_ID, CLAUDE_PROJECT, claude, GROK, GROK_SESSION, grok, line, put } from '../records.mjs'

const summary = JSON.stringify({ info: { cwd: '/home/dev/proj' }, generated_title: 'mended title' })
const rows = [1, 2].map((n) => line({ ts: `2026-11-15T12:00:0${n}.000Z`, type: 'turn_started', turn_number: n }))

export function make(home) {
  put(home, GROK, `${line(grok(1, 'first'))}garbage\n${line(grok(2, 'second'))}`)
  put(home, `${GROK_SESSION}/summary.json`, summary.slice(0, 30))
  put(home, `${GROK_SESSION}/events.jsonl`, `garbage\n${rows[0]}${rows[1].slice(0, 20)}`)
  put(home, CLAUDE, line(claude(1, 'first')) + line(claude(2, 'second')))
  put(home, `${CLAUDE_PROJECT}/${CLAUDE_ID}/subagents/agent-a1.jsonl`, line(claude(3, 'told', { isSidechain: true, agentId: 'a1', parentUuid: null })))
  put(home, `${CLAUDE_PROJECT}/${CLAUDE_ID}/subagents/agent-a1.meta.json`, '{"toolUseId":')
}

export function mend(home) {
  put(home, `${GROK_SESSION}/summary.json`, summary)
  put(home, `${GROK_SESSION}/events.jsonl`, `garbage\n${rows.join('')}`)
}
