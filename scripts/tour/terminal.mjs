// Runs one line of a tour: on a terminal of tmux of the given width, or in a pipe.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

const PATIENCE_MS = 60_000
const LINES_KEPT = '20000'

export function hasTmux() {
  try {
    execFileSync('tmux', ['-V'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** A tmux server of its own, with nobody's configuration. */
export class Terminal {
  #socket
  #stage
  #count = 0

  constructor(stage, width) {
    this.#stage = stage
    this.#socket = join(stage.home, '.local', 'tmux.sock')
    const options = { history: ['history-limit', LINES_KEPT], size: ['default-size', `${width}x50`] }
    const set = Object.values(options).flatMap(([name, value]) => ['set-option', '-g', name, value, ';'])
    const env = { ...process.env, ...stage.env, PATH: process.env.PATH, NODE_OPTIONS: '' }
    const first = [...set, 'new-session', '-d', '-x', String(width), '-y', '50', 'cat']
    execFileSync('tmux', ['-u', '-S', this.#socket, '-f', '/dev/null', 'start-server', ';', ...first], {
      env,
    })
  }

  /** The whole of what was written there, and the exit code. */
  async run({ line, env = {}, keys = [] }) {
    const name = `step${++this.#count}`
    const script = join(this.#stage.home, '.local', `${name}.sh`)
    const ended = `${script}.ended`
    writeFileSync(script, scriptOf({ ...this.#stage.env, ...env }, line, ended))
    this.#tmux('new-window', '-d', '-n', name, `exec /bin/sh '${script}'`)
    for (const [seen, key] of keys) {
      await until(() => seen.test(this.#screen(name)), `${line}: nothing like ${seen}`)
      this.#tmux('send-keys', '-t', name, ...[key].flat())
    }
    await until(() => existsSync(ended), `${line}: does not end`)
    const [code, screen] = [Number(readFileSync(ended, 'utf8')), this.#screen(name)]
    this.#tmux('kill-window', '-t', name)
    for (const path of [script, ended]) rmSync(path)
    return { code, text: stripVTControlCharacters(screen).trimEnd(), hasColour: screen.includes('\x1b[') }
  }

  #screen(name) {
    return this.#tmux('capture-pane', '-p', '-e', '-S', '-', '-t', name)
  }

  #tmux(...words) {
    return execFileSync('tmux', ['-S', this.#socket, ...words], { encoding: 'utf8', maxBuffer: 1 << 26 })
  }

  close() {
    this.#tmux('kill-server')
  }
}

/** The window stays after the end, so that all of it can be read. */
const scriptOf = (env, line, ended) => `unset TMUX TMUX_PANE
${Object.entries(env)
  .map(([name, value]) => `export ${name}='${value}'`)
  .join('\n')}
cd "$HOME"
trap : INT
${line}
echo $? > '${ended}.new' && mv '${ended}.new' '${ended}'
exec cat
`

async function until(isSo, otherwise) {
  const end = performance.now() + PATIENCE_MS
  while (!isSo()) {
    if (performance.now() > end) throw new Error(otherwise)
    await new Promise((resolve) => setTimeout(resolve, 15))
  }
}

/** What a program behind `|` gets, and what goes to stderr meanwhile. */
export async function runPiped(stage, { line, env = {}, keys = [] }) {
  const child = spawn('/bin/sh', ['-c', `trap : INT\n${line}`], {
    env: { ...stage.env, ...env },
    cwd: stage.home,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const texts = { stdout: '', stderr: '' }
  const interrupt = keys.find(([, key]) => key === 'C-c')
  let isStopped = false
  for (const name of ['stdout', 'stderr'])
    child[name].setEncoding('utf8').on('data', (text) => {
      texts[name] += text
      if (isStopped || !interrupt?.[0].test(texts.stdout + texts.stderr)) return
      isStopped = true
      process.kill(-child.pid, 'SIGINT')
    })
  const code = await new Promise((resolve) => child.once('close', (status) => resolve(status ?? 130)))
  return { code, ...texts }
}
