// The hook handler under everything an agent, a disk and an enemy can do: it always ends with 0, says nothing, and what
// it could write is whole. `npm run test:hooks` does this more than a thousand times.
import { spawn, spawnSync } from 'node:child_process'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { peekSpool, takeSpool } from '../src/sources/spool.ts'
import { LINES, MAX_SPOOL_BYTES, NUDGED, SPOOL } from '../src/sources/spool-files.ts'
import { SweepLock } from '../src/store/sweep-lock.ts'
import { amountOf } from './setup/long.ts'
import { cliPath, temporary } from './setup/sweeping.ts'

const HANDLER = join(cliPath, '..', 'recollect-hook.cjs')
const COUNT = amountOf('HOOKS', 60, 1200)
const AT_ONCE = 12
const base = temporary('handler')
const homes: string[] = []

function newHome(name: string): string {
  const home = join(base, name)
  homes.push(home)
  return home
}

interface Try {
  home: string
  input?: string | Buffer
  /** Bytes to send after the input, as long as they are taken. */
  moreBytes?: number
  neverEnds?: boolean
  /** What a shell does before it becomes the handler. */
  before?: string
}

interface Ended {
  code: number | null
  signal: string | null
  output: string
}

/** What a sweep needs to find; no agent's files. */
const env = (home: string): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  HOME: base,
  RECOLLECT_HOME: home,
  RECOLLECT_CAPTURE_INTERVAL: '0s',
})

async function run({ home, input = '', moreBytes = 0, neverEnds, before }: Try): Promise<Ended> {
  const [program, args] = before
    ? ['/bin/sh', ['-c', `${before}; exec "$0" "$1"`, process.execPath, HANDLER]]
    : [process.execPath, [HANDLER]]
  const child = spawn(program as string, args as string[], { env: env(home), stdio: 'pipe' })
  let output = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  child.stderr.on('data', (chunk) => (output += chunk))
  child.stdin.on('error', () => undefined)
  child.stdin.write(input)
  const block = Buffer.alloc(1 << 20, 'x')
  let sent = 0
  const pump = (): void => {
    while (sent < moreBytes && !child.stdin.destroyed) {
      sent += block.length
      if (!child.stdin.write(block)) return void child.stdin.once('drain', pump)
    }
    if (!neverEnds) child.stdin.end()
  }
  pump()
  return await new Promise((resolve) =>
    child.once('close', (code, signal) => {
      child.stdin.destroy()
      resolve({ code, signal, output })
    }),
  )
}

const payload = (session: string, more: object = {}): string =>
  JSON.stringify({
    hook_event_name: 'Stop',
    session_id: session,
    transcript_path: '/nowhere/x.jsonl',
    ...more,
  })

async function inBatches<T, R>(all: readonly T[], work: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  const queue = [...all.entries()]
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let next = queue.shift(); next; next = queue.shift()) results[next[0]] = await work(next[1])
    }),
  )
  return results
}

/** As if a sweep were about to begin: the lines stay to be looked at. */
function holdSweeps(home: string): () => void {
  const nudged = join(home, SPOOL, NUDGED)
  mkdirSync(join(home, SPOOL), { recursive: true })
  writeFileSync(nudged, '')
  const timer = setInterval(() => writeFileSync(nudged, ''), 10_000)
  return () => {
    clearInterval(timer)
    unlinkSync(nudged)
  }
}

/** Sweeps that handlers started end by themselves; nothing may be left behind. */
async function sweepsEnded(home: string): Promise<void> {
  for (let tries = 0; tries < 2000; tries++) {
    if (!existsSync(join(home, SPOOL, NUDGED))) {
      try {
        return new SweepLock(home).free()
      } catch {
        // Still running, or no home at all.
        if (!existsSync(home)) return
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`a sweep does not end: ${readdirSync(join(home, SPOOL)).join(' ')}`)
}

afterAll(async () => {
  for (const home of homes) await sweepsEnded(home)
})

describe('the handler', () => {
  it(`ends with 0 and says nothing, ${COUNT} times in parallel, and every line it wrote is whole`, async () => {
    const [good, odd] = [newHome('good'), newHome('odd')]
    const held = [good, odd].map(holdSweeps)
    const inTheWay = newHome('in-the-way')
    mkdirSync(join(inTheWay, SPOOL), { recursive: true })
    mkdirSync(join(inTheWay, SPOOL, LINES))
    const linked = newHome('linked')
    mkdirSync(join(linked, SPOOL), { recursive: true })
    writeFileSync(join(base, 'precious'), 'mine\n')
    symlinkSync(join(base, 'precious'), join(linked, SPOOL, LINES))
    const full = newHome('full')
    mkdirSync(join(full, SPOOL), { recursive: true })
    const secret = 'the prompt nobody may keep'
    const kinds: ((n: number) => Try)[] = [
      (n) => ({ home: good, input: payload(`s${n}`, { prompt: secret, last_assistant_message: secret }) }),
      (n) => ({ home: good, input: payload(`s${n}`, { pad: 'x'.repeat(300_000) }) }),
      () => ({ home: odd, input: 'no JSON at all \0\u2028{' }),
      () => ({ home: odd }),
      () => ({ home: odd, input: Buffer.from([0xff, 0xfe, 0x00, 0xc3, 0x28]) }),
      () => ({ home: odd, input: '['.repeat(500_000) }),
      () => ({ home: odd, input: 'null' }),
      () => ({
        home: odd,
        input: payload('x', { transcript_path: '/etc/passwd\n{"at":1}', hook_event_name: 'a\nb' }),
      }),
      () => ({
        home: odd,
        input: payload('../../x', { transcript_path: 'x'.repeat(100_000), __proto__: { a: 1 } }),
      }),
      () => ({ home: odd, input: payload('x', { transcript_path: ['/a'], agent_transcript_path: {} }) }),
      (n) => ({ home: odd, moreBytes: n % 200 < 20 ? 100 << 20 : 20 << 20 }),
      () => ({ home: odd, input: '{"hook_event_name":', neverEnds: true }),
      () => ({ home: full, input: payload('full'), before: 'ulimit -f 0' }),
      () => ({ home: '/dev/null/home', input: payload('x') }),
      () => ({ home: inTheWay, input: payload('x') }),
      () => ({ home: linked, input: payload('x') }),
      (n) => ({ home: good, input: payload(`s${n}`), before: 'exec >&- 2>&-' }),
      () => ({ home: odd, input: payload('x'), before: 'exec <&-' }),
    ]
    const tries = Array.from({ length: COUNT }, (_, n) => (kinds[n % kinds.length] as (n: number) => Try)(n))
    const ended = await inBatches(tries, run)
    expect(ended.filter((one) => one.code !== 0 || one.signal !== null || one.output !== '')).toEqual([])

    const goodCount = tries.filter((one) => one.home === good).length
    expect(linesOf(good)).toHaveLength(goodCount)
    for (const home of [good, odd]) {
      const text = linesOf(home)
      for (const line of text)
        expect(Object.keys(JSON.parse(line))).toEqual(['at', 'event', 'session', 'paths'])
      expect(text.join('\n')).not.toContain(secret)
    }
    expect(readFileSync(join(base, 'precious'), 'utf8')).toBe('mine\n')
    for (const release of held) release()
  }, 600_000)

  it('loses no line while the spool is taken away under it', async () => {
    const home = newHome('taken')
    // In place of the mark that a sweep was started, and not to be removed: none is started, and we take what is there.
    mkdirSync(join(home, SPOOL, NUDGED), { recursive: true })
    const tries = Array.from({ length: Math.max(20, COUNT / 5) }, (_, n) => `s${n}`)
    const seen = new Set<string | null>()
    const take = (): void => {
      const spool = takeSpool(home)
      for (const line of spool.lines) seen.add(line.session)
      spool.finish()
    }
    const taking = setInterval(take, 1)
    const ended = await inBatches(tries, async (session) => {
      const input = join(base, session)
      writeFileSync(input, payload(session))
      const stdin = openSync(input, 'r')
      const child = spawn(process.execPath, [HANDLER], {
        env: env(home),
        stdio: [stdin, 'inherit', 'inherit'],
      })
      closeSync(stdin)
      return await new Promise((resolve) => child.once('close', resolve))
    })
    clearInterval(taking)
    take()
    expect(ended.every((code) => code === 0)).toBe(true)
    expect([...seen].sort()).toEqual(tries.sort())
    homes.splice(homes.indexOf(home), 1)
  }, 600_000)

  it('makes a sweep come that nobody started by hand', async () => {
    const home = newHome('swept')
    await inBatches(['a', 'b', 'c', 'd'], async (session) => await run({ home, input: payload(session) }))
    await sweepsEnded(home)
    expect(peekSpool(home)).toEqual([])
    const state = JSON.parse(readFileSync(join(home, SPOOL, 'state.json'), 'utf8')) as { sweptAt: number }
    expect(state.sweptAt).toBeGreaterThan(0)
  })

  it.skipIf(!existsSync('/proc/self'))('ends where no directory can be made in one that is there', () => {
    const options = { env: env('/proc/nowhere'), input: payload('x'), timeout: 20_000 }
    expect(spawnSync(process.execPath, [HANDLER], options)).toMatchObject({ status: 0, signal: null })
  })

  it('and the sweep it starts mean the same memory, also by a relative path', async () => {
    const home = newHome('relative')
    const child = spawn(process.execPath, [HANDLER], { cwd: base, env: env('relative'), stdio: 'pipe' })
    child.stdin.end(payload('r'))
    await new Promise((resolve) => child.once('close', resolve))
    await sweepsEnded(home)
    expect(existsSync(join(home, 'memory.db'))).toBe(true)
    expect(readdirSync(home)).not.toContain('relative')
  })

  it('stops writing to a spool that nobody takes', async () => {
    const home = newHome('bounded')
    mkdirSync(join(home, SPOOL), { recursive: true })
    writeFileSync(join(home, SPOOL, NUDGED), '')
    writeFileSync(join(home, SPOOL, LINES), '\n'.repeat(MAX_SPOOL_BYTES))
    expect(await run({ home, input: payload('one too many') })).toMatchObject({ code: 0, output: '' })
    expect(readFileSync(join(home, SPOOL, LINES)).length).toBe(MAX_SPOOL_BYTES)
    homes.splice(homes.indexOf(home), 1)
  })
})

/** What was written and not yet taken. */
function linesOf(home: string): string[] {
  const directory = join(home, SPOOL)
  return readdirSync(directory)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(directory, name), 'utf8').split('\n'))
    .filter(Boolean)
}
