// What the page's server answers, once the guard has let somebody through: the page, its files, and the questions.
import { type Context, Hono } from 'hono'
import { streamSSE } from 'hono/streaming'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { DoctorOptions } from '../../doctor/index.ts'
import { type ErrorCode, fromUnforeseen } from '../../errors.ts'
import { unanswered } from '../../store/reading.ts'
import type { Assets } from './assets.ts'
import { changeRoutes, type Runners } from './changes.ts'
import { Doctor } from './doctor.ts'
import type { Live } from './live.ts'
import type { Memory } from './memory.ts'
import { type Refusal, told } from './refusal.ts'
import { apiRoutes } from './routes.ts'

export interface AppParts extends Runners {
  memory: Memory
  live: Live
  /** Stands in the page. */
  pageToken: string
  assets: Assets
  env: DoctorOptions['env']
}

const STATUS: Partial<Record<ErrorCode, ContentfulStatusCode>> = {
  NOT_FOUND: 404,
  NO_MEMORY: 404,
  USAGE: 400,
  AMBIGUOUS: 400,
  BUSY: 409,
  BAD_INPUT: 400,
}
const HEARTBEAT_MS = 25_000

export function buildApp({ memory, live, pageToken, assets, env, ...runners }: AppParts): Hono {
  const app = new Hono()
  const doctor = new Doctor(env)
  app.onError((error, context) => {
    const ours = fromUnforeseen(unanswered(error, memory.paths))
    return context.json({ error: ours }, STATUS[ours.code] ?? 500)
  })
  app.get('/api/live', (context) => liveStream(context, live))
  app.route('/api', changeRoutes({ memory, live, doctor }, runners))
  app.route('/api', apiRoutes(memory, doctor, env))
  app.all('/api/*', (context) => notFound(context, NO_QUESTION))
  app.get('*', (context) => {
    const name = context.req.path.slice(1)
    // A view's address has no dot in its first part; a file's has.
    return /^[\w-]+\.\w+$/.test(name)
      ? asset(context, assets, name)
      : context.html(assets.document(pageToken, live.version()))
  })
  return app
}

const NO_QUESTION: Refusal = {
  status: 404,
  code: 'NOT_FOUND',
  what: 'no such question',
  hint: 'this page and its server differ: reload the page',
}
const NO_FILE: Refusal = {
  status: 404,
  code: 'NOT_FOUND',
  what: 'no such file',
  hint: 'open / : it has a link to every view',
}

function notFound(context: Context, refusal: Refusal): Response {
  const isOpened = context.req.header('sec-fetch-mode') === 'navigate'
  const { type, body } = told(context.req.path, isOpened, refusal)
  return context.body(body, 404, { 'content-type': type })
}

function asset(context: Context, assets: Assets, name: string): Response {
  const file = assets.file(name)
  return file ? context.body(file.body, 200, { 'content-type': file.type }) : notFound(context, NO_FILE)
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
    const stop = live.listen(({ event, ...told }) => {
      send(event, 'error' in told ? { error: fromUnforeseen(told.error) } : told)
    })
    stream.onAbort(end)
    send('hello', { version: live.version() })
    // Without a word now and then, neither side learns that the other is gone.
    const beat = setInterval(() => send('beat', {}), HEARTBEAT_MS)
    await ended
    clearInterval(beat)
    stop()
  })
}
