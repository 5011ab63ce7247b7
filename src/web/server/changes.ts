// What the page may change: pins, and reading in what agents left. Each needs POST and the token of the page.
import { spawn } from 'node:child_process'
import { Hono } from 'hono'
import { RecollectError } from '../../errors.ts'
import { resolveSession } from '../../query/sessions.ts'
import { pin, unpin } from '../../retention/sessions.ts'
import { openStore } from '../../store/sqlite.ts'
import type { Doctor } from './doctor.ts'
import type { Memory } from './memory.ts'

/** Starts a sweep in a process of its own: the server goes on answering. Resolves with its exit code and last words. */
export type SweepRunner = () => Promise<{ code: number | null; output: string }>

export function changeRoutes(memory: Memory, doctor: Doctor, runSweep: SweepRunner | undefined): Hono {
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
    ['pin', (uid: string) => withStore(memory, (handle) => pin(handle, uid, Date.now()))],
    ['unpin', (uid: string) => withStore(memory, (handle) => unpin(handle, uid))],
  ] as const) {
    routes.post(`/${name}`, async (context) => {
      const uid = await uidIn(context.req.json())
      change(uid)
      return context.json({ session_uid: uid, pinned: name === 'pin' })
    })
  }
  let running: ReturnType<SweepRunner> | undefined
  routes.post('/sweep', async (context) => {
    if (!runSweep)
      throw new RecollectError('USAGE', 'this server cannot sweep', {
        where: '/api/sweep',
        hint: 'run: recollect sweep',
      })
    running ??= runSweep().finally(() => {
      doctor.forget()
      running = undefined
    })
    return context.json(await running)
  })
  return routes
}

function withStore(memory: Memory, work: (handle: Parameters<typeof pin>[0]) => unknown): void {
  const store = openStore(memory.paths)
  try {
    work(store.read())
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
