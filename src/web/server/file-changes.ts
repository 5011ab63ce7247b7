// What sessions changed in files, worked out in a thread of its own: hundreds of edits of a large file take seconds to put
// together, and the server goes on answering meanwhile.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { type ChangeScope, Changes } from '../../digest/changes.ts'
import { type ErrorCode, fromUnforeseen, RecollectError } from '../../errors.ts'
import { type StorePaths, unanswered } from '../../store/reading.ts'
import { SharedReader } from '../../store/shared-reader.ts'

export type ChangeQuestion =
  | { about: 'session'; uid: string; offset: number; limit: number; prompt?: number | undefined }
  | { about: 'file'; uid: string; path: string; scope: ChangeScope }

/** What the thread says: an answer as JSON text, or why there is none. */
export type ChangeAnswer = { id: number } & (
  | { text: string }
  | { problem: { code: ErrorCode; message: string; where: string; hint: string } }
)

/** Answers from one session at a time, kept until another is asked for or something was committed. */
export class ChangeDesk {
  readonly #reader: SharedReader
  #kept: { key: string; changes: Changes } | undefined

  constructor(paths: StorePaths) {
    this.#reader = new SharedReader(paths)
  }

  answer(question: ChangeQuestion): string {
    const { uid } = question
    const key = `${uid} ${this.#reader.version()}`
    if (this.#kept?.key !== key) this.#kept = { key, changes: new Changes(this.#reader.handle(), uid) }
    const { changes } = this.#kept
    if (question.about === 'session') return JSON.stringify(changes.summary(question))
    const found = changes.file(question.path, question.scope)
    if (found) return JSON.stringify(found)
    throw new RecollectError('NOT_FOUND', 'no edit of this file is known here', {
      where: question.path,
      hint: 'name it as the list of files does',
    })
  }

  /** The same, with an error as data: it has to cross between threads. */
  told(id: number, question: ChangeQuestion): ChangeAnswer {
    try {
      return { id, text: this.answer(question) }
    } catch (error) {
      const { code, message, where, hint } = fromUnforeseen(unanswered(error, this.#reader.paths))
      return { id, problem: { code, message, where, hint } }
    }
  }

  close(): void {
    this.#reader.close()
  }
}

const threadFile = new URL('./file-changes.js', import.meta.url)
/** Without a question for so long the thread, and what it holds, is let go. */
const IDLE_MS = 60_000

export class FileChanges {
  readonly #paths: StorePaths
  readonly #waiting = new Map<number, { done: (text: string) => void; fail: (error: unknown) => void }>()
  #worker: Worker | undefined
  #desk: ChangeDesk | undefined
  #idle: ReturnType<typeof setTimeout> | undefined
  #lastId = 0

  constructor(paths: StorePaths) {
    this.#paths = paths
  }

  /** JSON text. */
  ask(question: ChangeQuestion): Promise<string> {
    // Run from the TypeScript sources (in tests) there is no built thread to start.
    if (!existsSync(fileURLToPath(threadFile))) {
      this.#desk ??= new ChangeDesk(this.#paths)
      return Promise.resolve(this.#desk.answer(question))
    }
    const worker = this.#running()
    const id = ++this.#lastId
    return new Promise((done, fail) => {
      this.#waiting.set(id, { done, fail })
      worker.postMessage({ id, question })
    })
  }

  close(): void {
    clearTimeout(this.#idle)
    void this.#worker?.terminate()
    this.#worker = undefined
    this.#desk?.close()
    this.#desk = undefined
  }

  #running(): Worker {
    clearTimeout(this.#idle)
    if (this.#worker) return this.#worker
    const worker = new Worker(threadFile, { workerData: this.#paths })
    worker.unref()
    worker.on('message', (answer: ChangeAnswer) => this.#take(answer))
    const end = (cause: unknown): void => {
      if (this.#worker === worker) this.#worker = undefined
      for (const { fail } of this.#waiting.values()) fail(stopped(cause))
      this.#waiting.clear()
    }
    worker.on('error', end)
    worker.on('exit', end)
    this.#worker = worker
    return worker
  }

  #take(answer: ChangeAnswer): void {
    const waiting = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    if ('text' in answer) waiting?.done(answer.text)
    else {
      const { code, message, where, hint } = answer.problem
      waiting?.fail(new RecollectError(code, message, { where, hint }))
    }
    if (this.#waiting.size > 0) return
    this.#idle = setTimeout(() => this.close(), IDLE_MS)
    this.#idle.unref()
  }
}

const stopped = (cause: unknown): RecollectError =>
  new RecollectError('IO', 'the thread that puts edits together has stopped', {
    where: 'file changes',
    hint: 'ask again; recollect doctor tells more',
    ...(cause instanceof Error ? { cause } : {}),
  })
