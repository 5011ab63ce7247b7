// Picks a session on the terminal, and does with it what was chosen. The first screen needs only the newest sessions; the
// rest is read when it stands. Drawn on the other screen of the terminal, which is as it was when the picker goes.
import { emitKeypressEvents } from 'node:readline'
import { Config } from '../config.ts'
import { parseStored } from '../errors.ts'
import { shellWord } from '../files/shell.ts'
import type { Line } from '../query/briefs.ts'
import { reposAt } from '../query/meant.ts'
import { isOwn } from '../query/narrow.ts'
import type { Reader } from '../store/reader/index.ts'
import { openForReading, storePaths } from '../store/reading.ts'
import { copy } from './clipboard.ts'
import { inLocale } from './colour.ts'
import { EXIT } from './exit.ts'
import { type Key, type Picked, Picker, type Preview, type Size } from './picker.ts'
import { tell } from './print.ts'
import { onScreen } from './screen.ts'
import { terminal } from './streams.ts'
import { oneLine } from './text.ts'

/** Whether somebody sits before it who can see and choose. */
export const canPick = (): boolean =>
  terminal(1) !== undefined && process.stdin.isTTY === true && process.env['TERM'] !== 'dumb'

/** What stands on the first screens. */
const FIRST = 200
/** Read in some 20 ms. */
const SLICE = 500

/** Sessions of this directory's repository; empty where there are none, or no memory. */
export function uidsHere(handle: Reader, limit: number): string[] {
  const repo = reposAt(handle, process.cwd()).filter((name) => handle.sessions.hasValue('repo', name))
  return repo.length === 0 ? [] : handle.sessions.uids({ repo, limit })
}

/** Undefined when nobody picked anything: there are none, or the picker was left. */
export async function pickSession(onlyWhereHere = false): Promise<boolean> {
  const config = new Config()
  const handle = openForReading(storePaths(config.home, config.get('store.db_path')))
  let picked: { uid: string; what: Picked } | undefined
  try {
    const here = uidsHere(handle, FIRST)
    if (here.length === 0 && onlyWhereHere) return false
    picked = await new Picking(handle, here).run()
  } finally {
    handle.close()
  }
  if (picked) await act(picked.uid, picked.what)
  return true
}

async function act(uid: string, what: Picked): Promise<void> {
  if (what === 'resume') await (await import('./resume.ts')).resumeSession(uid, {})
  else if (what === 'show') await (await import('./show.ts')).showSession(uid, {})
  else if (what === 'page') await (await import('./ui.ts')).runUi(uid, { open: true, watch: false })
  else {
    // One word without a line end: it is pasted into a shell.
    copy(shellWord(oneLine(uid)))
    tell(`copied: ${onScreen(uid)}\n`)
  }
}

const ENTER = '\u001b[?1049h\u001b[?7l'
const LEAVE = '\u001b[?7h\u001b[?1049l'
const HOME = '\u001b[H'
/** Before it is written on: behind the last column it would take the last letter along. */
const EMPTY_LINE = '\u001b[K'

class Picking {
  readonly #handle: Reader
  readonly #picker: Picker
  readonly #screen = terminal(1) as NodeJS.WriteStream
  readonly #previews = new Map<string, Preview>()
  #reading: NodeJS.Immediate | undefined

  constructor(handle: Reader, here: readonly string[]) {
    this.#handle = handle
    const newest = handle.sessions.uids({ limit: FIRST })
    const lines = handle.sessions.linesOf([...new Set([...here, ...newest])])
    this.#picker = new Picker(lines, new Set(here), lines.length < FIRST)
  }

  async run(): Promise<{ uid: string; what: Picked } | undefined> {
    const { stdin } = process
    const draw = (): void => this.#draw()
    emitKeypressEvents(stdin)
    stdin.setRawMode(true)
    this.#screen.write(ENTER)
    this.#screen.on('resize', draw)
    try {
      draw()
      this.#readOn([], '')
      return await this.#chosen()
    } finally {
      clearImmediate(this.#reading)
      this.#screen.off('resize', draw)
      this.#screen.write(LEAVE)
      stdin.setRawMode(false)
      stdin.pause()
    }
  }

  /** All of them, some at a time: keys are heard in between. */
  #readOn(lines: Line[], after: string): void {
    this.#reading = setImmediate(() => {
      const more = this.#handle.sessions.linesAfter(after, SLICE)
      lines.push(...more.filter(isOwn))
      const last = more.at(-1)
      if (last) return this.#readOn(lines, last.session_uid)
      this.#picker.setLines(lines)
      this.#draw()
    })
  }

  #chosen(): Promise<{ uid: string; what: Picked } | undefined> {
    return new Promise((done) => {
      const { stdin } = process
      const onKey = (_: string | undefined, key: Key): void => {
        const pressed = this.#picker.press(key, this.#size())
        if (pressed === undefined) {
          this.#draw()
          return
        }
        stdin.off('keypress', onKey)
        if (pressed === 'leave' && key.ctrl) process.exitCode = EXIT.interrupted
        const { session_uid: uid } = this.#picker.marked ?? { session_uid: '' }
        done(pressed === 'leave' ? undefined : { uid, what: pressed })
      }
      stdin.on('keypress', onKey)
      stdin.resume()
    })
  }

  #size(): Size {
    return { columns: this.#screen.columns || 80, rows: this.#screen.rows || 24 }
  }

  #draw(): void {
    const { rows, cursor } = this.#picker.render(this.#size(), Date.now(), this.#preview())
    const lines = rows.map((row) => `${EMPTY_LINE}${inLocale(onScreen(row))}`)
    this.#screen.write(`${HOME}${lines.join('\r\n')}\u001b[1;${cursor + 1}H`)
  }

  /** From its digest; looked up when it is marked. */
  #preview(): Preview | undefined {
    const uid = this.#picker.marked?.session_uid
    if (uid === undefined) return undefined
    const known = this.#previews.get(uid)
    if (known) return known
    const stored = this.#handle.digests.of(uid)
    if (stored === undefined) return undefined
    const { first_prompt = '', last_assistant = '' } = parseStored<{
      first_prompt?: string
      last_assistant?: string
    }>(stored)
    const preview = { asked: first_prompt, answered: last_assistant }
    this.#previews.set(uid, preview)
    return preview
  }
}
