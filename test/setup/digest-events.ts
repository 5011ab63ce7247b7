// Events as the digest reads them, made by hand: a small conversation in a few lines.

import type { DigestEvent } from '../../src/digest/event.ts'
import { type Facts, Gatherer } from '../../src/digest/facts.ts'
import type { Told } from '../../src/event/body.ts'

export type Made = Omit<Partial<DigestEvent>, 'body'> & { body?: Told }

export class Script {
  readonly events: DigestEvent[] = []
  /** How often a body was read. */
  bodiesRead = 0
  #calls = 0

  add(made: Made): this {
    const { body, ...fields } = made
    const seq = this.events.length + 1
    this.events.push({
      seq,
      ts: Date.UTC(2026, 0, 1) + seq * 1000,
      kind: 'lifecycle',
      role: 'system',
      tool: null,
      call: null,
      summary: '',
      does: null,
      state: null,
      mark: null,
      isSidechain: false,
      isInherited: false,
      isSuperseded: false,
      isPart: false,
      hasMore: false,
      agent: null,
      exitCode: null,
      durationMs: null,
      files: [],
      body: () => {
        this.bodiesRead++
        return body && { ...body, raw: null }
      },
      ...fields,
    })
    return this
  }

  prompt(summary: string, made: Made = {}): this {
    return this.add({ kind: 'user_msg', role: 'user', summary, ...made })
  }

  answer(summary: string, made: Made = {}): this {
    return this.add({ kind: 'assistant_msg', role: 'assistant', summary, ...made })
  }

  interrupt(): this {
    return this.add({ kind: 'human_intervention', role: 'user', mark: 'interrupt', summary: 'turn aborted' })
  }

  /** A shell command and its result. */
  run(command: string, exitCode: number, output = '', made: Made = {}): this {
    const call = `call${++this.#calls}`
    this.add({
      kind: 'tool_call',
      role: 'assistant',
      tool: 'shell',
      call,
      summary: `shell: ${command}`,
      does: 'shell',
      ...made,
    })
    return this.result(call, 'shell', exitCode, output, made)
  }

  test(command: string, exitCode: number, output = ''): this {
    return this.run(command, exitCode, output, { kind: 'test_run' })
  }

  edit(path: string, failed?: string): this {
    const call = `call${++this.#calls}`
    this.add({
      kind: 'edit',
      role: 'assistant',
      tool: 'patch',
      call,
      summary: `patch ${path}`,
      does: 'edit',
      files: [path],
    })
    return failed === undefined
      ? this.add({ kind: 'tool_result', role: 'tool', tool: 'patch', call, summary: 'done' })
      : this.add({
          kind: 'error',
          role: 'tool',
          tool: 'patch',
          call,
          summary: failed,
          body: { said: failed },
        })
  }

  result(call: string, tool: string, exitCode: number | null, output: string, made: Made = {}): this {
    return this.add({
      ...made,
      kind: exitCode === 0 ? 'tool_result' : 'error',
      role: 'tool',
      tool,
      call,
      exitCode,
      does: null,
      state: exitCode === 0 ? 'ok' : 'failed',
      summary: exitCode ? `exit ${exitCode}: ${output.split('\n')[0]}` : output || 'done',
      body: { said: output },
    })
  }

  /** The same, kept as text after every event and gone on from. */
  stepwise(): Facts {
    let saved: string | undefined
    for (const event of this.events) {
      const gatherer = new Gatherer(saved)
      gatherer.add(event)
      saved = gatherer.save()
    }
    return new Gatherer(saved).finish()
  }

  facts(): Facts {
    const gatherer = new Gatherer()
    for (const event of this.events) gatherer.add(event)
    return gatherer.finish()
  }
}
