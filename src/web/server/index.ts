// The server of the page: loopback, guarded, read-only but for pins and sweeps. Started by `recollect ui`.
import { type ServerType, serve } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { streamSSE } from 'hono/streaming'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { Config } from '../../config.ts'
import type { DoctorOptions } from '../../doctor/index.ts'
import { type ErrorCode, fromSystem, fromUnforeseen, RecollectError } from '../../errors.ts'
import { unanswered } from '../../store/reading.ts'
import { type Assets, loadAssets } from './assets.ts'
import { changeRoutes, type SweepRunner } from './changes.ts'
import { Doctor } from './doctor.ts'
import { Guard, HEADERS, isLoopback, refused } from './guard.ts'
import { Live } from './live.ts'
import { Memory } from './memory.ts'
import { apiRoutes } from './routes.ts'

export interface ServerOptions {
  config: Config
  host?: string
  /** 0: any free one. */
  port?: number
  password?: string | undefined
  runSweep?: SweepRunner
  /** Where doctor looks for agents; the process's own unless told. */
  env?: DoctorOptions['env']
  /** What the browser refused to do for the page, as it reports it. */
  onViolation?: (report: string) => void
}

export interface Server {
  /** Where the page is; with a one-time token unless a password is asked for. */
  url: string
  port: number
  close(): Promise<void>
}

const STATUS: Partial<Record<ErrorCode, ContentfulStatusCode>> = {
  NOT_FOUND: 404,
  NO_MEMORY: 404,
  USAGE: 400,
  AMBIGUOUS: 400,
  BUSY: 409,
}
const HEARTBEAT_MS = 25_000
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
  const guard = new Guard({ host, port: () => port, password: options.password })
  const app = buildApp({ ...options, memory, live, guard, assets: loadAssets() })
  const server = await listen(app, host, port)
  const address = server.address()
  if (typeof address === 'object' && address) port = address.port
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
  const token = guard.openToken
  return {
    url: `http://${name}:${port}/${token === undefined ? '' : `open?token=${token}`}`,
    port,
    close: () => close(server, live, memory),
  }
}

interface Parts extends ServerOptions {
  memory: Memory
  live: Live
  guard: Guard
  assets: Assets
}

function buildApp(parts: Parts): Hono {
  const { memory, live, guard, assets, runSweep, onViolation, env = process.env } = parts
  const app = new Hono()
  const doctor = new Doctor(env)
  app.onError((error, context) => {
    const ours = fromUnforeseen(unanswered(error, memory.paths))
    return context.json({ error: ours }, STATUS[ours.code] ?? 500, HEADERS)
  })
  app.use(guard.checkHost)
  app.post('/csp-report', async (context) => {
    const report = (await context.req.text()).slice(0, 4000)
    onViolation?.(report)
    return context.body(null, 204)
  })
  app.use(guard.checkOrigin)
  app.get('/open', (context) => guard.open(context))
  app.get('/style.css', (context) => asset(context, assets, 'style.css'))
  if (guard.hasPassword) {
    app.get('/login', (context) => context.html(loginPage(context.req.query('wrong') !== undefined)))
    app.post('/login', (context) => guard.login(context))
  }
  app.use(guard.checkCookie)
  app.get('/api/live', (context) => liveStream(context, live))
  app.route('/api', changeRoutes(memory, doctor, runSweep))
  app.route('/api', apiRoutes(memory, doctor, env))
  app.all('/api/*', (context) =>
    refused(
      context,
      404,
      'NOT_FOUND',
      'no such question',
      'this page and its server differ: reload the page',
    ),
  )
  app.get('*', (context) => {
    const name = context.req.path.slice(1)
    // A view's address has no dot in its first part; a file's has.
    return /^[\w-]+\.\w+$/.test(name)
      ? asset(context, assets, name)
      : context.html(assets.document(guard.pageToken))
  })
  return app
}

function asset(context: Context, assets: Assets, name: string): Response {
  const file = assets.file(name)
  return file
    ? context.body(file.body, 200, { 'content-type': file.type })
    : refused(context, 404, 'NOT_FOUND', 'no such file', 'open / : it has a link to every view')
}

function liveStream(context: Context, live: Live): Response {
  return streamSSE(context, async (stream) => {
    let end = (): void => {}
    const ended = new Promise<void>((done) => {
      end = done
    })
    const send = (event: string, data: unknown): void => {
      stream.writeSSE({ event, data: JSON.stringify(data) }).catch(end)
    }
    const stop = live.listen(({ sessions, problem }) => {
      if (problem === null) send('change', { sessions })
      else send('problem', { error: fromUnforeseen(problem) })
    })
    stream.onAbort(end)
    send('hello', {})
    // Without a word now and then, neither side learns that the other is gone.
    const beat = setInterval(() => send('beat', {}), HEARTBEAT_MS)
    await ended
    clearInterval(beat)
    stop()
  })
}

function loginPage(isWrong: boolean): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Recollect</title><link rel="stylesheet" href="/style.css"></head><body><main class="login"><h1>Recollect</h1>
<form method="post" action="/login"><label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required autofocus>
${isWrong ? '<p role="alert">That was not it.</p>' : ''}<button>Open</button></form></main></body></html>`
}

function listen(app: Hono, hostname: string, port: number): Promise<ServerType> {
  return new Promise((done, fail) => {
    const server = serve({ fetch: app.fetch, hostname, port }, () => done(server))
    // Longer than any answer takes: a connection that waits for its turn must not be taken for an idle one.
    if ('keepAliveTimeout' in server) server.keepAliveTimeout = KEEP_ALIVE_MS
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

function close(server: ServerType, live: Live, memory: Memory): Promise<void> {
  return new Promise((done) => {
    live.close()
    server.close(() => {
      memory.close()
      done()
    })
    // Streams of open pages would keep it waiting.
    if ('closeAllConnections' in server) server.closeAllConnections()
  })
}
