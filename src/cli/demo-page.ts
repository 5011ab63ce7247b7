// The demo as the page shows it: a memory of the bundled samples in a directory of its own, and a page over that, both gone
// when the page that asked for them stops.
import { type ChildProcess, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { RecollectError } from '../errors.ts'

const MAX_WORDS = 2000

export class DemoPage {
  #home: string | undefined
  #page: ChildProcess | undefined

  /** Each call starts a page of its own: an address is good for one browser. */
  async open(): Promise<{ url: string }> {
    this.#home ??= (JSON.parse(await firstWords(ours(['demo', '--json']), true)) as { home: string }).home
    this.#page?.kill()
    const { RECOLLECT_UI_PASSWORD: _, ...others } = process.env
    const env = { ...others, RECOLLECT_HOME: this.#home }
    this.#page = ours(['ui', '--no-open', '--no-watch', '--port', '0'], env)
    return { url: (await firstWords(this.#page, false)).trim() }
  }

  close(): void {
    this.#page?.kill()
    if (this.#home !== undefined) rmSync(this.#home, { recursive: true, force: true })
  }
}

const ours = (words: string[], env: NodeJS.ProcessEnv = process.env): ChildProcess =>
  spawn(process.execPath, [process.argv[1] as string, ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] })

/** What it prints: all of it, or the first line. */
function firstWords(child: ChildProcess, isAll: boolean): Promise<string> {
  return new Promise((done, fail) => {
    let printed = ''
    let words = ''
    child.stdout?.on('data', (bytes: Buffer) => {
      printed += bytes.toString()
      if (!isAll && printed.includes('\n')) done(printed)
    })
    child.stderr?.on('data', (bytes: Buffer) => {
      words = (words + bytes.toString()).slice(-MAX_WORDS)
    })
    child.on('error', fail)
    child.on('close', (code) => {
      if (code === 0 && isAll) done(printed)
      else
        fail(
          new RecollectError('IO', words.trim() || 'the demo did not start', {
            where: 'recollect demo',
            hint: 'run it in a terminal: recollect demo',
          }),
        )
    })
  })
}
