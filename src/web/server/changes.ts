// What the page may change: pins, what a person writes beside a session, forgetting one, reading in what agents left, and a
// demo beside it. Each needs POST and the token of the page: the guard asks for both before anything here is reached.
import { spawn } from 'node:child_process'
import { Hono } from 'hono'
import { decide } from '../../decide.ts'
import { RecollectError } from '../../errors.ts'
import { type LabelWish, label } from '../../label.ts'
import { resolveSession } from '../../query/sessions.ts'
import { openStore } from '../../store/sqlite.ts'
import type { Store } from '../../store/store.ts'
import { runningSweep } from '../../store/sweep-lock.ts'
import type { Doctor } from './doctor.ts'
import type { Live } from './live.ts'
import type { Memory } from './memory.ts'

/** Starts a sweep in a process of its own: the server goes on answering. Resolves with its exit code and last words. */
export type SweepRunner = () => Promise<{ code: number | null; output: string }>

/** The same for forgetting one: it has to be alone with the memory, as the command sees to. */
export type ForgetRunner = (uid: string) => ReturnType<SweepRunner>

/** Starts a page over a memory of the bundled samples; resolves with its address. */
export type DemoRunner = () => Promise<{ url: string }>

export interface Runners {
  runSweep: SweepRunner | undefined
  runForget: ForgetRunner | undefined
  runDemo: DemoRunner | undefined
}

interface Parts {
  memory: Memory
  live: Live
  doctor: Doctor
}

/** How often the page is told how far a sweep is. */
const PROGRESS_MS = 250

export function changeRoutes(
  { memory, live, doctor }: Parts,
  { runSweep, runForget, runDemo }: Runners,
): Hono {
  const routes = new Hono()
  const uidIn = async (body: Promise<unknown>): Promise<string> => {
    const uid = ((await body.catch(() => null)) as { session_uid?: unknown } | null)?.session_uid
    if (typeof uid !== 'string')
      throw new RecollectError('USAGE', 'which session?', {
        where: 'session_uid',
        hint: 'its id, as /api/sessions tells it',
      })
    return resolveSession(memory.handle(), uid)
  }
  for (const [name, change] of [
    ['pin', (uid: string) => withStore(memory, ({ archive }) => archive.pin(uid, Date.now()))],
    ['unpin', (uid: string) => withStore(memory, ({ archive }) => archive.unpin(uid))],
  ] as const) {
    routes.post(`/${name}`, async (context) => {
      const uid = await uidIn(context.req.json())
      change(uid)
      return context.json({ session_uid: uid, pinned: name === 'pin' })
    })
  }
  routes.post('/label', async (context) => {
    const body = (await context.req.json().catch(() => ({}))) as Record<string, unknown>
    const uid = await uidIn(Promise.resolve(body))
    return context.json(label(memory.config, uid, wishIn(body)))
  })
  routes.post('/decide', async (context) => {
    const body = (await context.req.json().catch(() => ({}))) as Record<string, unknown>
    const session = await uidIn(Promise.resolve(body))
    return context.json(decide({ config: memory.config, session, text: textIn(body, 'text') ?? '' }))
  })
  routes.post('/forget', async (context) => {
    const uid = await uidIn(context.req.json())
    if (!runForget)
      throw new RecollectError('USAGE', 'this server cannot forget', {
        where: '/api/forget',
        hint: `run: recollect forget ${uid}`,
      })
    return context.json(await runForget(uid))
  })
  let running: ReturnType<SweepRunner> | undefined
  routes.post('/sweep', async (context) => {
    if (!runSweep)
      throw new RecollectError('USAGE', 'this server cannot sweep', {
        where: '/api/sweep',
        hint: 'run: recollect sweep',
      })
    running ??= watched(live, memory.config.home, runSweep).finally(() => {
      doctor.forget()
      running = undefined
    })
    return context.json(await running)
  })
  routes.route('/', demoRoutes(runDemo))
  return routes
}

function demoRoutes(runDemo: DemoRunner | undefined): Hono {
  const routes = new Hono()
  let demo: ReturnType<DemoRunner> | undefined
  routes.post('/demo', async (context) => {
    if (!runDemo)
      throw new RecollectError('USAGE', 'this server cannot show the demo', {
        where: '/api/demo',
        hint: 'run: recollect demo',
      })
    demo ??= runDemo().finally(() => {
      demo = undefined
    })
    return context.json(await demo)
  })
  return routes
}

async function watched(live: Live, home: string, runSweep: SweepRunner): ReturnType<SweepRunner> {
  const tell = (): void => live.tell({ event: 'sweep', progress: runningSweep(home) })
  const timer = setInterval(tell, PROGRESS_MS)
  try {
    return await runSweep()
  } finally {
    clearInterval(timer)
    live.tell({ event: 'sweep', progress: null })
  }
}

function wrongType(name: string, what: string): RecollectError {
  return new RecollectError('USAGE', `${name} is no ${what}`, { where: name, hint: 'reload the page' })
}

function textIn(body: Record<string, unknown>, name: string): string | undefined {
  const value = body[name]
  if (value !== undefined && typeof value !== 'string') throw wrongType(name, 'text')
  return value
}

function wishIn(body: Record<string, unknown>): LabelWish {
  const wish: LabelWish = {}
  const title = body['title'] === null ? null : textIn(body, 'title')
  if (title !== undefined) wish.title = title
  const star = body['star']
  if (star !== undefined && typeof star !== 'boolean') throw wrongType('star', 'yes or no')
  if (star !== undefined) wish.star = star
  const [added, removed, note] = ['add_tag', 'remove_tag', 'add_note'].map((name) => textIn(body, name))
  if (added !== undefined) wish.addTags = [added]
  if (removed !== undefined) wish.removeTags = [removed]
  if (note !== undefined) wish.addNote = note
  const number = body['remove_note']
  if (number !== undefined && !Number.isSafeInteger(number)) throw wrongType('remove_note', 'number')
  if (number !== undefined) wish.removeNote = number as number
  return wish
}

function withStore(memory: Memory, work: (store: Store) => unknown): void {
  const store = openStore(memory.paths)
  try {
    work(store)
  } finally {
    store.close()
  }
}

const MAX_OUTPUT = 4000

/** Runs a command line of ours; what it prints is kept, in part. */
export function sweepRunner(command: readonly string[]): SweepRunner {
  return () =>
    new Promise((done, fail) => {
      const child = spawn(command[0] as string, command.slice(1), { stdio: ['ignore', 'pipe', 'pipe'] })
      let output = ''
      const keep = (bytes: Buffer): void => {
        output = (output + bytes.toString()).slice(-MAX_OUTPUT)
      }
      child.stdout.on('data', keep)
      child.stderr.on('data', keep)
      child.on('error', fail)
      child.on('close', (code) => done({ code, output }))
    })
}
