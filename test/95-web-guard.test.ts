// The guard of the page's server under attack: by a page of the web, by who guesses the password, by who sends without end,
// and by another user of the same machine.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { METHODS, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { launchChromium } from '../scripts/chromium.mjs'
import { Config } from '../src/config.ts'
import { Throttle } from '../src/throttle.ts'
import { buildApp } from '../src/web/server/app.ts'
import { loadAssets } from '../src/web/server/assets.ts'
import { Live } from '../src/web/server/live.ts'
import { Memory } from '../src/web/server/memory.ts'
import { describeInBrowser, newPage } from './setup/browser.ts'
import { IS_LONG } from './setup/long.ts'
import { agentRoots, TestMemory } from './setup/memory.ts'
import { cliPath, temporary } from './setup/sweeping.ts'
import { serve, type WebClient } from './setup/web.ts'

let memory: TestMemory
let web: WebClient
let sweeps = 0

beforeAll(async () => {
  memory = new TestMemory(agentRoots(['codex-0.45']).roots)
  await memory.sweep()
  const runSweep = async () => ({ code: 0, output: String(++sweeps) })
  web = await (await serve(memory.home, { runSweep })).signIn()
})
afterAll(async () => {
  await web.server.close()
  memory.remove()
})

/** Every way to ask for everything there is, and for what there is not. */
async function everyRoute(): Promise<string[]> {
  const held = await Memory.of(new Config({ env: { RECOLLECT_HOME: memory.home } }))
  const app = buildApp({
    memory: held,
    live: new Live(held),
    pageToken: '',
    assets: loadAssets(),
    runSweep: undefined,
    runForget: undefined,
    runDemo: undefined,
    env: {},
  })
  held.close()
  const paths = app.routes.map(({ path }) => path.replaceAll('*', 'anything').replace(/:\w+/g, '@last'))
  const extra = [
    '/',
    '/csp-report',
    '/open',
    '/login',
    '/page.js',
    '/%6fpen',
    '//open',
    '/open/',
    '/a/../open',
  ]
  return [...new Set([...paths.map((path) => (path.startsWith('/') ? path : `/${path}`)), ...extra])]
}
const USUAL = /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|TRACE|PROPFIND)$/
const WAYS = METHODS.filter((method) => method !== 'CONNECT' && (IS_LONG || USUAL.test(method)))

describe('every route, asked in every way', () => {
  it('is behind the guard: name, then origin, then cookie, then token', async () => {
    const paths = await everyRoute()
    expect(paths.length).toBeGreaterThan(25)
    expect(paths).toContain('/api/sweep')
    const { port } = web.server
    const own = { origin: web.origin }
    const token = { 'x-recollect-token': web.pageToken }
    const attackers: [string, Record<string, string>, number][] = [
      ['another name', { ...web.cookie, ...own, ...token, host: `evil.example:${port}` }, 421],
      ['another origin', { ...web.cookie, ...token, origin: 'http://evil.example' }, 403],
      ['no origin at all', { ...web.cookie, ...token, origin: 'null' }, 403],
      ['another port', { ...web.cookie, ...token, origin: `http://127.0.0.1:${port + 1}` }, 403],
      ['another site', { ...web.cookie, ...own, ...token, 'sec-fetch-site': 'cross-site' }, 403],
      ['no cookie', { ...own, ...token }, 401],
      ['a wrong cookie', { ...own, ...token, cookie: 'recollect=x' }, 401],
    ]
    const passed: string[] = []
    for (const path of paths)
      for (const method of WAYS)
        for (const [who, headers, status] of attackers) {
          const answer = await web.raw(path, headers, method)
          // What is answered without a cookie, and says nothing.
          const isOpen =
            status === 401 &&
            ((path === '/open' && method !== 'GET' && answer.status === 405) ||
              (path === '/style.css' && ['GET', 'HEAD'].includes(method) && answer.status === 200))
          const isRight = answer.status === status || isOpen
          const isQuiet =
            answer.headers['set-cookie'] === undefined && answer.headers['cache-control'] === 'no-store'
          if (!isRight || !isQuiet) passed.push(`${who}: ${method} ${path} ${answer.status}`)
        }
    expect(passed).toEqual([])
    // Signed in, but without the second secret: nothing can be changed in any way.
    for (const path of paths.filter((one) => one !== '/open'))
      for (const method of WAYS.filter((one) => one !== 'GET' && one !== 'HEAD'))
        expect([method, path, (await web.raw(path, { ...web.cookie, ...own }, method)).status]).toEqual([
          method,
          path,
          403,
        ])
    expect(sweeps).toBe(0)
    expect((await web.post('/api/sweep', {})).status).toBe(200)
    expect(sweeps).toBe(1)
  })
})

/** A server in a process of its own, as a person starts it. */
async function started(
  env: Record<string, string> = {},
  args: string[] = ['--no-open'],
): Promise<{ child: ChildProcess; url: URL; said: () => string }> {
  const child = spawn(process.execPath, [cliPath, 'ui', '--no-watch', '--port', '0', ...args], {
    env: {
      PATH: process.env['PATH'] ?? '',
      LANG: 'C.UTF-8',
      HOME: memory.home,
      RECOLLECT_HOME: memory.home,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(async () => {
    if (child.exitCode !== null) return
    const ended = new Promise((done) => child.once('exit', done))
    child.kill('SIGTERM')
    await ended
  })
  let out = ''
  let all = ''
  child.stderr.on('data', (bytes: Buffer) => {
    all += bytes.toString()
  })
  for await (const bytes of child.stdout) {
    out += String(bytes)
    if (out.includes('\n')) break
  }
  return { child, url: new URL(out.trim()), said: () => all + out }
}

/** Sends so many megabytes and tells what came back, if anything. */
function pour(url: URL, path: string, megabytes: number, headers: Record<string, string>): Promise<number> {
  return new Promise((done) => {
    let status = 0
    const call = request({ host: '127.0.0.1', port: url.port, path, method: 'POST', headers }, (answer) => {
      status = answer.statusCode ?? 0
      answer.resume()
    })
    call.on('error', () => done(status))
    call.on('close', () => done(status))
    const part = Buffer.alloc(1 << 20, 'x')
    let sent = 0
    const more = (): void => {
      while (sent < megabytes) {
        sent++
        if (!call.write(part)) return void call.once('drain', more)
      }
      call.end()
    }
    more()
  })
}

const peakMb = ({ pid }: ChildProcess): number =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

describe('who sends without end', () => {
  it('is refused with an answer, costs no memory, and writes nothing to the terminal', async () => {
    const { child, url, said } = await started({ RECOLLECT_UI_PASSWORD: 'correct horse' })
    const before = peakMb(child)
    while (!said().includes('listening')) await sleep(20)
    const quiet = said()
    const own = { origin: url.origin }
    const evil = { origin: 'http://evil.example', 'content-type': 'text/plain' }
    const report = '\u001b]0;owned\u0007\u001b[2J$(touch owned)'
    for (const headers of [evil, {}, own] as Record<string, string>[]) {
      const answer = await fetch(new URL('/csp-report', url), { method: 'POST', body: report, headers })
      expect(answer.status).toBe('origin' in headers && headers === own ? 401 : 403)
    }
    expect(await pour(url, '/csp-report', 300, evil)).toBe(403)
    expect(await pour(url, '/login', 300, own)).toBe(413)
    expect(await pour(url, '/login', 300, { ...own, 'content-length': String(300 << 20) })).toBe(413)
    expect(await pour(url, '/api/pin', 300, own)).toBe(401)
    expect(peakMb(child) - before).toBeLessThan(120)
    expect(said()).toBe(quiet)
    expect(quiet).not.toContain('\u001b')
  })

  it('reads why, however it sends', async () => {
    const own = { ...web.cookie, origin: web.origin, 'x-recollect-token': web.pageToken }
    const large = Buffer.alloc(2 << 20, 'x')
    for (const headers of [own, { ...own, 'transfer-encoding': 'chunked' }]) {
      const answers = await Promise.all(
        Array.from({ length: 40 }, async () => await web.raw('/api/pin', headers, 'POST', large)),
      )
      expect(new Set(answers.map((one) => one.status))).toEqual(new Set([413]))
      expect(answers[0]?.json()).toMatchObject({ error: { code: 'TOO_LARGE', where: '/api/pin' } })
    }
    // What is no HTTP at all.
    const nonsense = await new Promise<string>((done) => {
      const socket = connect(web.server.port, '127.0.0.1')
      let text = ''
      socket.on('data', (bytes) => {
        text += String(bytes)
      })
      socket.on('close', () => done(text))
      socket.write('CONNECT / nonsense\r\n\r\n')
    })
    expect(nonsense).toMatch(/^HTTP\/1\.1 400 /)
  })
})

describe('who guesses the password', () => {
  const form = (client: WebClient): Record<string, string> => ({
    origin: client.origin,
    'content-type': 'application/x-www-form-urlencoded',
  })

  const AT_ONCE = 300
  const wave = <T>(tried: (password: string) => Promise<T>): Promise<T>[] =>
    Array.from({ length: AT_ONCE }, (_, at) => tried(`guess${at}`))

  it('is held up before it is looked at, right or wrong; others are not', async () => {
    const open = await serve(memory.home, { host: '0.0.0.0', password: 'correct horse' })
    onTestFinished(() => open.server.close())
    // However long this takes, no time goes by: tries are given back by the clock.
    const now = Date.now()
    vi.useFakeTimers({ toFake: ['Date'], now })
    onTestFinished(() => void vi.useRealTimers())
    const tried = (password: string, from = '127.0.0.1') =>
      open.raw('/login', form(open), 'POST', `password=${password}`, from)
    // No more at a time than a system lets wait for a server: whom it turns away has not guessed.
    const tries = IS_LONG ? 3000 : AT_ONCE
    const statuses: number[] = []
    while (statuses.length < tries - AT_ONCE)
      statuses.push(...(await Promise.all(wave(tried))).map((one) => one.status))
    const wrong = wave(tried)
    const right = await tried('correct+horse')
    expect([right.status, right.headers['set-cookie']]).toEqual([429, undefined])
    expect(Number(right.headers['retry-after'])).toBeGreaterThan(0)
    expect(right.body).toContain('was not looked at')
    statuses.push(...(await Promise.all(wrong)).map((one) => one.status))
    expect(statuses.filter((status) => status === 303)).toHaveLength(5)
    expect(statuses.filter((status) => status === 429)).toHaveLength(statuses.length - 5)
    // Somebody at another address comes in meanwhile.
    expect((await tried('correct+horse', '127.0.0.2')).headers['set-cookie']?.[0]).toMatch(/^recollect-\d+=/)
    // And who waits is looked at again: one try in ten seconds.
    vi.setSystemTime(now + 10_500)
    expect((await tried('guess')).status).toBe(303)
    expect((await tried('correct+horse')).status).toBe(429)
    vi.setSystemTime(now + 21_000)
    expect((await tried('correct+horse')).headers['set-cookie']?.[0]).toMatch(/^recollect-\d+=/)
  })
})

describe('an address', () => {
  it('is that of a host: of IPv6 a whole network, of IPv4 the same in either spelling', () => {
    const triesLeft = (addresses: readonly string[]): number => {
      const throttle = new Throttle()
      return addresses.filter((address) => throttle.take(address).waitMs === 0).length
    }
    const many = Array.from({ length: 50 }, (_, at) => at.toString(16))
    expect(triesLeft(many.map((at) => `2001:db8:1:2::${at}`))).toBe(5)
    expect(triesLeft(many.map((at) => `2001:db8:1:2:${at}:a:b:c`))).toBe(5)
    expect(triesLeft(many.map((at) => `fe80::1:${at}`))).toBe(5)
    expect(triesLeft(many.map((at) => `2001:db8:1:${at}::1`))).toBe(50)
    expect(triesLeft(many.map((_, at) => (at % 2 ? '10.0.0.1' : '::ffff:10.0.0.1')))).toBe(5)
    expect(triesLeft(many.map((_, at) => `::ffff:10.0.0.${at}`))).toBe(50)
  })
})

describe('another user of the machine', () => {
  const isRoot = process.getuid?.() === 0
  const NOBODY = 65_534

  it.skipIf(!isRoot)('finds the token nowhere (skipped unless root, who alone can be another)', async () => {
    const bin = temporary('bin')
    chmodSync(bin, 0o755)
    const log = join(bin, 'opened')
    writeFileSync(
      join(bin, 'xdg-open'),
      `#!/bin/sh\nprintf '%s\\n' "$@" >"${log}.new"\nmv "${log}.new" "${log}"\nsleep 20\n`,
    )
    chmodSync(join(bin, 'xdg-open'), 0o755)
    const { url } = await started({ PATH: `${bin}:${process.env['PATH'] ?? ''}` }, [])
    const token = url.searchParams.get('token') as string
    expect(token.length).toBeGreaterThan(20)
    while (!existsSync(log)) await sleep(50)
    const given = readFileSync(log, 'utf8').trim()
    expect(given).toMatch(/^file:\/\/.*\.html$/)
    const path = new URL(given).pathname
    const asNobody = (script: string): string =>
      spawnSync('/bin/sh', ['-c', script], { uid: NOBODY, gid: NOBODY, encoding: 'utf8', cwd: '/' }).stdout
    const seen = asNobody("cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' ' '")
    // It does see the program and its argument.
    expect(seen).toContain('xdg-open')
    expect(seen).toContain(given)
    expect(seen).not.toContain(token)
    expect(asNobody(`cat '${path}' 2>/dev/null; ls '${join(path, '..')}' 2>/dev/null`)).toBe('')
    // The file leads there, and is gone once it was followed.
    expect((statSync(path).mode & 0o777).toString(8)).toBe('600')
    expect((statSync(join(path, '..')).mode & 0o777).toString(8)).toBe('700')
    const target = /url=([^"]+)"/.exec(readFileSync(path, 'utf8'))?.[1] as string
    expect(target).toBe(url.href)
    expect((await fetch(target)).headers.get('set-cookie')).toMatch(/^recollect-\d+=/)
    expect(existsSync(path)).toBe(false)
  })
})

describeInBrowser('a browser', () => {
  it('is led in by the file, and by the password', async () => {
    const { child, url } = await started({ PATH: temporary('no-opener') }, [])
    const file = join(memory.home, 'opening', `${url.port}.html`)
    while (!existsSync(file)) await sleep(50)
    const browser = await launchChromium()
    onTestFinished(() => browser.close())
    const page = await newPage(browser)
    await page.goto(`file://${file}`)
    await page.locator('.figures').waitFor()
    expect(page.url()).toBe(`${url.origin}/`)
    expect(existsSync(file)).toBe(false)
    child.kill('SIGTERM')
    const closed = await serve(memory.home, { password: 'correct horse' })
    onTestFinished(() => closed.server.close())
    const other = await newPage(browser)
    await other.goto(`${closed.origin}/sessions`)
    await other.fill('#password', 'wrong')
    await other.click('button')
    await other.getByText('That was not it.').waitFor()
    await other.fill('#password', 'correct horse')
    await other.click('button')
    await other.locator('.figures').waitFor()
  })

  it('that is stopped leaves no file behind', async () => {
    const { child, url } = await started({ PATH: temporary('no-opener') }, [])
    const file = join(memory.home, 'opening', `${url.port}.html`)
    while (!existsSync(file)) await sleep(50)
    const ended = new Promise((done) => child.once('exit', done))
    child.kill('SIGTERM')
    await ended
    expect(existsSync(file)).toBe(false)
  })
})
