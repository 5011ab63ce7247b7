// A shell in a terminal of its own, as a person sits before it: keys go in, what the screen gets comes out.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'

const PATIENCE_MS = 60_000
export const TAB = '\t'
export const CTRL_C = '\u0003'
export const CTRL_D = '\u0004'
const ENTER = '\r'
/** Empties the line that was begun. */
const KILL_LINE = '\u0015'

export class Terminal {
  screen = ''
  readonly #program: ChildProcessWithoutNullStreams
  #marks = 0
  #wake = (): void => {}

  /** `script` makes the terminal; it is on every Linux. */
  constructor(command: string, options: { env: Record<string, string>; cwd: string }) {
    this.#program = spawn('script', ['-qfec', command, '/dev/null'], options)
    this.#program.stdout.on('data', (bytes: Buffer) => {
      this.screen += bytes.toString()
      this.#wake()
    })
    this.#program.on('exit', () => this.#wake())
    // It may have ended while the last keys were on their way.
    this.#program.stdin.on('error', () => {})
  }

  type(keys: string): void {
    this.#program.stdin.write(keys)
  }

  /** Resolves once the screen shows it. */
  async until(text: string): Promise<void> {
    const end = Date.now() + PATIENCE_MS
    while (!this.screen.includes(text)) {
      if (Date.now() > end || this.#program.exitCode !== null)
        throw new Error(
          `${JSON.stringify(text)} did not come up: ${JSON.stringify(this.screen.slice(-2000))}`,
        )
      await new Promise<void>((done) => {
        const timer = setTimeout(done, 1000)
        this.#wake = () => {
          clearTimeout(timer)
          done()
        }
      })
    }
  }

  /** Answers a question that the program waits on. What stood there before it is forgotten. */
  async answer(question: string, keys: string): Promise<string> {
    await this.until(question)
    const { screen } = this
    this.screen = ''
    this.type(keys)
    return screen
  }

  /** The exit code of a program that ends by itself. */
  async ended(): Promise<number | null> {
    if (this.#program.exitCode === null && this.#program.signalCode === null) {
      const timer = setTimeout(() => this.#program.kill('SIGKILL'), PATIENCE_MS)
      await new Promise((done) => this.#program.once('close', done))
      clearTimeout(timer)
    }
    return this.#program.exitCode
  }

  /** Waits until the shell has worked off every key: it reads them in order, and this is the last thing it is told. */
  async settled(): Promise<void> {
    const mark = `${++this.#marks}.`
    this.type(`${KILL_LINE}echo settled "at" ${mark}${ENTER}`)
    await this.until(`settled at ${mark}`)
  }

  /** Types a line, its keys and TABs, and runs it. */
  async run(line: string): Promise<void> {
    this.type(line + ENTER)
    await this.settled()
  }

  async close(): Promise<void> {
    const ended = new Promise((done) => this.#program.once('close', done))
    this.type(`${KILL_LINE}exit${ENTER}`)
    const timer = setTimeout(() => this.#program.kill('SIGKILL'), 5000)
    await ended
    clearTimeout(timer)
  }
}
