// Sessions written line by line as Claude Code writes them, for the tests of the page: calls with their answers, at times of
// our choice.
import { appendFileSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

export interface Told {
  id: string
  cwd?: string
  /** When it begins, epoch milliseconds. */
  startAt: number
}

export class ToldSession {
  readonly path: string
  readonly uid: string
  readonly #told: Told
  #count = 0
  #at: number

  constructor(path: string, told: Told) {
    this.path = path
    this.#told = told
    this.#at = told.startAt
    this.uid = `claude:${told.id}`
    mkdirSync(dirname(path), { recursive: true })
  }

  /** Lets time go by. */
  wait(seconds: number): this {
    this.#at += seconds * 1000
    return this
  }

  prompt(text: string): this {
    return this.#add('user', text)
  }

  /** Ends a turn. */
  say(text: string): this {
    return this.#add('assistant', [{ type: 'text', text }], {}, 'end_turn')
  }

  think(text: string): this {
    return this.#add('assistant', [{ type: 'thinking', thinking: text, signature: 'x' }])
  }

  call(name: string, input: object, answer: string, more: { isError?: boolean; result?: object } = {}): this {
    const id = `toolu_${this.#told.id.slice(0, 4)}_${this.#count}`
    this.#add('assistant', [{ type: 'tool_use', id, name, input }])
    const content = [
      { type: 'tool_result', tool_use_id: id, content: answer, is_error: more.isError === true },
    ]
    return this.#add('user', content, more.result ? { toolUseResult: more.result } : {})
  }

  edit(path: string, before: string, after: string, original?: string): this {
    const input = { file_path: path, old_string: before, new_string: after }
    return this.call('Edit', input, 'The file has been updated', {
      ...(original === undefined ? {} : { result: { filePath: path, originalFile: original } }),
    })
  }

  #add(type: 'user' | 'assistant', content: unknown, fields: object = {}, stop: string | null = null): this {
    const n = ++this.#count
    this.#at += 1000
    const uuid = (at: number): string => `${this.#told.id.slice(0, 24)}${String(at).padStart(12, '0')}`
    const usage = { input_tokens: 100, cache_read_input_tokens: 2000 * n, output_tokens: 50 }
    const model = {
      id: `msg_${this.#told.id.slice(0, 8)}_${n}`,
      model: 'claude-opus-5-5',
      usage,
      stop_reason: stop,
    }
    const record = {
      parentUuid: n > 1 ? uuid(n - 1) : null,
      isSidechain: false,
      cwd: this.#told.cwd ?? '/home/dev/shop',
      sessionId: this.#told.id,
      version: '2.1.325',
      type,
      uuid: uuid(n),
      timestamp: new Date(this.#at).toISOString(),
      message: { role: type, ...(type === 'assistant' ? model : {}), content },
      ...fields,
    }
    appendFileSync(this.path, `${JSON.stringify(record)}\n`)
    return this
  }
}
