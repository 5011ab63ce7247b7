// Sessions told in a few words, written as an agent's transcript below a home directory.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type Step =
  | { ask: string }
  | { answer: string }
  | { think: string }
  | { tool: string; input: Record<string, unknown>; output: string; failed?: boolean }

export interface Told {
  id: string
  uid: string
  path: string
}

interface Setting {
  cwd?: string
  branch?: string
  model?: string
  /** Of the first step; each comes a minute after the one before. */
  at?: string
  title?: string
}

const uuidOf = (name: string): string => {
  const hex = Buffer.from(name.padEnd(16, '.')).toString('hex').slice(0, 32)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`
}

/** `name` has at most six letters: ids are made of it. */
export function tell(home: string, name: string, steps: readonly Step[], setting: Setting = {}): Told {
  const { cwd = '/w/shop', branch = 'main', model = 'model-1', at = '2026-11-01T10:00:00Z', title } = setting
  const id = uuidOf(name)
  const lines: unknown[] = []
  let parent: string | null = null
  let time = Date.parse(at)
  const add = (type: 'user' | 'assistant', content: unknown): void => {
    const uuid = uuidOf(`${name}${lines.length}`)
    const message =
      type === 'user'
        ? { role: 'user', content }
        : {
            id: `msg_${uuid}`,
            role: 'assistant',
            model,
            content,
            usage: { input_tokens: 5, output_tokens: 7 },
          }
    lines.push({
      parentUuid: parent,
      isSidechain: false,
      userType: 'external',
      cwd,
      sessionId: id,
      version: '2.1.200',
      gitBranch: branch,
      type,
      message,
      uuid,
      timestamp: new Date(time).toISOString(),
    })
    parent = uuid
    time += 60_000
  }
  if (title !== undefined) lines.push({ type: 'custom-title', customTitle: title, sessionId: id })
  for (const step of steps) {
    if ('ask' in step) add('user', step.ask)
    else if ('answer' in step) add('assistant', [{ type: 'text', text: step.answer }])
    else if ('think' in step) add('assistant', [{ type: 'thinking', thinking: step.think, signature: 's' }])
    else {
      const call = `toolu_${name}_${lines.length}`
      add('assistant', [{ type: 'tool_use', id: call, name: step.tool, input: step.input }])
      const content = [
        { tool_use_id: call, type: 'tool_result', content: step.output, is_error: step.failed ?? false },
      ]
      add('user', content)
    }
  }
  const directory = join(home, '.claude', 'projects', cwd.replaceAll('/', '-'))
  mkdirSync(directory, { recursive: true })
  const path = join(directory, `${id}.jsonl`)
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  return { id, uid: `claude:${id}`, path }
}
