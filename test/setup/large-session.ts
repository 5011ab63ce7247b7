// A transcript of many events, as an agent would have written it: turns of a prompt, calls with output, an answer.
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

const START = Date.parse('2026-11-01T08:00:00Z')
const CALLS = 12

/** Writes lines until there are about so many events; returns how many prompts that took. */
export function writeLargeSession(path: string, id: string, events: number): number {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, '')
  let [at, number, prompts] = [START, 0, 0]
  let lines: string[] = []
  let parent: string | null = null
  const add = (type: string, content: unknown[], extra: Record<string, unknown> = {}): void => {
    at += 700
    const uuid = `00000000-0000-4000-8000-${String(++number).padStart(12, '0')}`
    const message = { role: type, content, ...extra }
    lines.push(
      JSON.stringify({
        parentUuid: parent,
        isSidechain: false,
        userType: 'external',
        cwd: '/home/dev/large',
        sessionId: id,
        version: '2.1.325',
        gitBranch: 'main',
        type,
        uuid,
        timestamp: new Date(at).toISOString(),
        message,
      }),
    )
    parent = uuid
  }
  const usage = {
    input_tokens: 40,
    cache_read_input_tokens: 20_000,
    cache_creation_input_tokens: 100,
    output_tokens: 90,
  }
  // The end of each turn is an event as well.
  while (number + prompts < events) {
    prompts++
    add('user', [{ type: 'text', text: `Prompt ${prompts}: look at part ${prompts} of the system.` }])
    for (let i = 0; i < CALLS && number + prompts < events; i++) {
      const call = `toolu_${number}`
      const model = { id: `msg_${number}`, model: 'claude-opus-5-5', usage }
      add(
        'assistant',
        [{ type: 'tool_use', id: call, name: 'Bash', input: { command: `grep -rn needle${number} src` } }],
        model,
      )
      add('user', [
        { type: 'tool_result', tool_use_id: call, content: `src/part${prompts}.ts:${i}: found nothing` },
      ])
    }
    add('assistant', [{ type: 'text', text: `Part ${prompts} is **done**.` }], {
      id: `msg_${number}`,
      model: 'claude-opus-5-5',
      usage,
    })
    if (lines.length < 5000) continue
    appendFileSync(path, `${lines.join('\n')}\n`)
    lines = []
  }
  if (lines.length > 0) appendFileSync(path, `${lines.join('\n')}\n`)
  return prompts
}
