// `recollect ui`: starts the server of the page, says where it is and opens a browser there.
import { type ChildProcess, spawn } from 'node:child_process'
import { Config } from '../config.ts'
import type { RecollectError } from '../errors.ts'
import { ensureDirectory } from '../files/directory.ts'
import { resolveSession } from '../query/ids.ts'
import { sweepRunner } from '../web/server/changes.ts'
import { type Server, type ServerOptions, startServer } from '../web/server/index.ts'
import { teamPage } from './answers.ts'
import { DemoPage } from './demo-page.ts'
import { EXIT } from './exit.ts'
import { openBrowser, removeOpening, writeOpening } from './open-browser.ts'
import { print, tell } from './print.ts'
import { parsePort } from './values.ts'
import { withMemory } from './with-memory.ts'

export interface UiCommand {
  port?: string
  host?: string
  open: boolean
  watch: boolean
}

const DEFAULT_PORT = 7077

export async function runUi(typed: string | undefined, options: UiCommand): Promise<void> {
  const there = await teamPage()
  if (there !== undefined) {
    const url = typed === undefined ? there : `${there}s/${encodeURIComponent(typed)}`
    print(url)
    if (options.open) openBrowser(url)
    return
  }
  const config = new Config()
  const session = typed === undefined ? undefined : await sessionNamed(typed)
  // So that the server can watch for a memory that the first sweep will make.
  ensureDirectory(config.home, 0o700, false)
  const ours = [process.execPath, process.argv[1] as string] as const
  const runSweep = sweepRunner([...ours, 'sweep'])
  const runForget = (uid: string) => sweepRunner([...ours, 'forget', uid, '--yes', '--json'])()
  const demo = new DemoPage()
  const server: Server = await start(options, {
    config,
    runSweep,
    runForget,
    // Who looks from another machine could not reach it.
    ...(options.host === undefined ? { runDemo: () => demo.open() } : {}),
    password: process.env['RECOLLECT_UI_PASSWORD'],
    onOpened: () => removeOpening(config.home, server.port),
    ...(options.host === undefined ? {} : { host: options.host }),
  })
  // Before the address is told: who has read it may stop us at once.
  const stop = stopped()
  const url = session === undefined ? server.url : atSession(server, session)
  print(url)
  tell('recollect is listening; stop with Ctrl-C\n')
  if (options.host !== undefined) tell('warning: what you read here travels unencrypted over the network\n')
  if (options.open) openBrowser(server.hasToken ? writeOpening(config.home, server.port, url) : url)
  const watcher = options.watch ? startWatcher(config.origin('capture.interval') === 'default') : undefined
  process.exitCode = (await stop) === 'SIGINT' ? EXIT.interrupted : EXIT.terminated
  watcher?.kill()
  demo.close()
  removeOpening(config.home, server.port)
  await server.close()
}

const sessionNamed = (typed: string): Promise<string> => withMemory((handle) => resolveSession(handle, typed))

/** The address that leads to one session. */
const atSession = ({ url, hasToken }: Server, uid: string): string =>
  hasToken ? `${url}&session=${encodeURIComponent(uid)}` : `${url}s/${encodeURIComponent(uid)}`

/** Somebody looks on: ten seconds, as nobody notices elsewhere, are long. */
const LIVE_INTERVAL = { RECOLLECT_CAPTURE_INTERVAL: '2s' }

/** `recollect watch` beside us: whatever agents write is swept soon after, and the page learns of it from the memory. */
function startWatcher(isSoon: boolean): ChildProcess {
  const watcher = spawn(process.execPath, [process.argv[1] as string, 'watch'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...(isSoon ? LIVE_INTERVAL : {}) },
  })
  let words = ''
  watcher.stderr?.on('data', (bytes: Buffer) => {
    words = (words + bytes.toString()).slice(-2000)
  })
  watcher.on('error', (error) => tell(`warning: nothing is read in: ${error.message}\n`))
  watcher.on('exit', (code) => {
    // Another watcher does the same work.
    if (code !== null && code !== EXIT.busy && code < 128) tell(`warning: ${words.trim()}\n`)
  })
  return watcher
}

async function start(options: UiCommand, rest: Omit<ServerOptions, 'port'>): Promise<Server> {
  if (options.port !== undefined)
    return await startServer({ ...rest, port: parsePort(options.port, '--port') })
  try {
    return await startServer({ ...rest, port: DEFAULT_PORT })
  } catch (error) {
    if ((error as RecollectError).code !== 'BUSY') throw error
    return await startServer({ ...rest, port: 0 })
  }
}

function stopped(): Promise<NodeJS.Signals> {
  return new Promise((done) => {
    process.once('SIGINT', done)
    process.once('SIGTERM', done)
  })
}
