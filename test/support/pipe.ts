// `recollect record` as a real child process, and what the four formats need to be driven alike.
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import {
  loadRun,
  readEntireTranscript,
  readSessionHistory,
  TranscriptWriter,
} from '../../src/record/index.ts'

export const CLI = resolve('dist/cli.cjs')
export const RUN_ID = '2025-01-15-flow-x'

export interface Answer {
  ok: boolean
  line: number
  error?: { code: string; message: string; where?: string; hint?: string }
  [field: string]: unknown
}

export interface Format {
  name: string
  args: (directory: string) => string[]
  /** How a later process goes on. */
  again: (directory: string) => string[]
  /** A good line that carries a mark, and the marks on disk. */
  line: (mark: string) => Record<string, unknown>
  marks: (directory: string) => Promise<string[]>
  /** Answers before the first line. */
  openedCount: number
}

const turnsArgs = (d: string): string[] => ['turns', '--base', d, '--agent', 'a', '--session', 's']
const entireArgs = (d: string): string[] => ['entire', '--cwd', d, '--agent-version', '1', '--session', 's']
const lineageArgs = (d: string): string[] => ['lineage', '--dir', d]

export const FORMATS: Format[] = [
  {
    name: 'turns',
    args: turnsArgs,
    again: turnsArgs,
    line: (mark) => ({ turnId: mark, role: 'user', ts: 1 }),
    marks: async (d) => (await new TranscriptWriter(d).read('a', 's')).map((turn) => turn.turnId),
    openedCount: 0,
  },
  {
    name: 'entire',
    args: entireArgs,
    again: entireArgs,
    line: (mark) => ({ role: 'user', content: mark }),
    marks: async (d) => {
      const marks: string[] = []
      const path = join(d, '.entire/metadata/s/full.jsonl')
      for await (const line of readEntireTranscript(path)) marks.push(line.message.content as string)
      return marks
    },
    openedCount: 1,
  },
  {
    name: 'run',
    args: (d) => ['run', '--base', d, '--run-id', RUN_ID, '--flow-id', 'flow'],
    again: (d) => ['run', '--base', d, '--run-id', RUN_ID, '--resume'],
    line: (mark) => ({ type: 'turn', role: 'user', content: mark }),
    marks: async (d) => (await loadRun(d, RUN_ID)).turns.map((turn) => turn.content),
    openedCount: 1,
  },
  {
    name: 'lineage',
    args: lineageArgs,
    again: lineageArgs,
    line: (mark) => ({ op: 'save', session_id: mark }),
    marks: async (d) => (await readSessionHistory(d)).map((event) => event.session_id),
    openedCount: 0,
  },
]

/** Runs to the end with all of the input given at once. */
export function record(
  args: string[],
  input: string | Buffer,
  env: Record<string, string> = {},
): { answers: Answer[]; code: number; stderr: string } {
  const { stdout, stderr, status } = spawnSync(process.execPath, [CLI, 'record', ...args], {
    input,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  return { answers: parseAnswers(stdout), code: status ?? -1, stderr }
}

export function parseAnswers(text: string): Answer[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

export const jsonLines = (values: unknown[]): string =>
  values.map((one) => `${JSON.stringify(one)}\n`).join('')

/** A process to talk with. Answers are collected as they come, from the first call of `until` on. */
export class Pipe {
  readonly child: ChildProcessWithoutNullStreams
  readonly answers: Answer[] = []
  readonly exit: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  #changed: () => void = () => undefined
  #reading = false
  #ended = false

  constructor(args: string[]) {
    this.child = spawn(process.execPath, [CLI, 'record', ...args])
    // A child that is killed leaves us with lines it did not take.
    this.child.stdin.on('error', () => undefined)
    this.exit = new Promise((done) => this.child.on('exit', (code, signal) => done({ code, signal })))
  }

  send(values: unknown[]): void {
    this.child.stdin.write(jsonLines(values))
  }

  /** Resolves when there are that many answers, or no more will come. */
  async until(count: number): Promise<Answer[]> {
    if (!this.#reading) this.#read()
    while (this.answers.length < count && !this.#ended) {
      await new Promise<void>((done) => {
        this.#changed = done
      })
    }
    return this.answers
  }

  #read(): void {
    this.#reading = true
    createInterface({ input: this.child.stdout })
      .on('line', (line) => {
        this.answers.push(JSON.parse(line))
        this.#changed()
      })
      .on('close', () => {
        this.#ended = true
        this.#changed()
      })
  }
}
