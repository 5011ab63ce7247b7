// The server of the page: loopback, guarded, read-only but for pins and sweeps. Started by `recollect ui`.
import { createServer, type Server as HttpServer, type RequestListener } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import type { Config } from '../../config.ts'
import type { DoctorOptions } from '../../doctor/index.ts'
import { fromSystem, RecollectError } from '../../errors.ts'
import { buildApp } from './app.ts'
import { loadAssets } from './assets.ts'
import type { DemoRunner, ForgetRunner, SweepRunner } from './changes.ts'
import { Guard, isLoopback } from './guard.ts'
import { Live } from './live.ts'
import { Memory } from './memory.ts'

export interface ServerOptions {
  config: Config
  host?: string
  /** 0: any free one. */
  port?: number
  password?: string | undefined
  runSweep?: SweepRunner
  runForget?: ForgetRunner
  runDemo?: DemoRunner
  /** Where doctor looks for agents; the process's own unless told. */
  env?: DoctorOptions['env']
  /** Told when the one-time token was used. */
  onOpened?: () => void
}

export interface Server {
  /** Where the page is; with a one-time token unless a password is asked for. */
  url: string
  /** The address is a secret then. */
  hasToken: boolean
  port: number
  close(): Promise<void>
}

const KEEP_ALIVE_MS = 60_000

export async function startServer(options: ServerOptions): Promise<Server> {
  const host = options.host ?? '127.0.0.1'
  if (!isLoopback(host) && !options.password) {
    throw new RecollectError('USAGE', `others could reach the page at ${host}: it needs a password`, {
      where: '--host',
      hint: 'set RECOLLECT_UI_PASSWORD, or leave --host out to stay on this machine',
    })
  }
  const memory = await Memory.of(options.config)
  const live = new Live(memory)
  let port = options.port ?? 0
  const assets = loadAssets()
  const guard = new Guard({
    host,
    port: () => port,
    password: options.password,
    style: assets.file('style.css')?.body ?? '',
    onOpened: options.onOpened,
  })
  const { runSweep, runForget, runDemo, env = process.env } = options
  const runners = { runSweep, runForget, runDemo }
  const app = buildApp({ memory, live, pageToken: guard.pageToken, assets, env, ...runners })
  const server = await listen(guard.listener(getRequestListener(app.fetch)), host, port)
  const address = server.address()
  if (typeof address === 'object' && address) port = address.port
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
  const token = guard.openToken
  return {
    url: `http://${name}:${port}/${token === undefined ? '' : `open?token=${token}`}`,
    hasToken: token !== undefined,
    port,
    close: () => close(server, live, memory),
  }
}

function listen(listener: RequestListener, hostname: string, port: number): Promise<HttpServer> {
  return new Promise((done, fail) => {
    const server = createServer(listener)
    // Longer than any answer takes: a connection that waits for its turn must not be taken for an idle one.
    server.keepAliveTimeout = KEEP_ALIVE_MS
    server.listen(port, hostname, () => done(server))
    server.once('error', (cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'EADDRINUSE') return fail(fromSystem(cause, 'cannot listen', `${hostname}:${port}`))
      fail(
        new RecollectError('BUSY', `port ${port} is taken`, {
          where: `${hostname}:${port}`,
          hint: 'choose another with --port, or --port 0 for any',
          cause,
        }),
      )
    })
  })
}

function close(server: HttpServer, live: Live, memory: Memory): Promise<void> {
  return new Promise((done) => {
    live.close()
    server.close(() => {
      memory.close()
      done()
    })
    // Streams of open pages would keep it waiting.
    server.closeAllConnections()
  })
}
