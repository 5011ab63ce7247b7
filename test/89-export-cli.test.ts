// `recollect export`: to stdout, files, directories and collectors; of sessions that are gone; and of more than fits in memory.
import { execFile, type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { segmentPath } from '../src/store/segments.ts'
import { openStore } from '../src/store/sqlite.ts'
import { atifProblems, type Trajectory } from './setup/atif-schema.ts'
import { IS_LONG } from './setup/long.ts'
import { type CliResult, cli, cliPath, World } from './setup/sweeping.ts'
import { tell } from './setup/told.ts'

const world = new World()
afterAll(() => world.remove())
const run = (...args: string[]): CliResult => cli(world.env, 'export', ...args)
const out = (name: string): string => join(world.base, name)

const shop = tell(world.home, 'shop', [
  { ask: 'Mend the till' },
  { tool: 'Bash', input: { command: 'make till' }, output: 'Error: drawer jammed', failed: true },
  { answer: 'Mended.' },
])
const infra = tell(world.home, 'infra', [{ ask: 'Check the wires' }, { answer: 'Fine.' }], {
  cwd: '/w/infra',
})
const gone = tell(world.home, 'gone', [
  { ask: 'Sell the balloon' },
  { tool: 'Bash', input: { command: 'true' }, output: 'only in the raw' },
  { answer: 'Sold.' },
])
beforeAll(async () => {
  await world.sweep()
  const store = openStore(world.paths)
  store.archive.evict([{ uid: gone.uid, reason: 'age', bytes: 1 }], Date.now())
  store.close()
})

describe('where to', () => {
  it('stdout, one session or several one behind the other', () => {
    expect(run(shop.id)).toMatchObject({ code: 0, stdout: expect.stringContaining('> Mend the till') })
    const lines = run('--all', '--format', 'jsonl').stdout.trimEnd().split('\n')
    const types = lines.map((line) => (JSON.parse(line) as { type: string }).type)
    expect(types.filter((type) => type === 'session')).toHaveLength(3)
    expect(run(shop.id, infra.id).stdout.match(/^# /gm)).toHaveLength(2)
  })

  it('a file, which nobody else can read', () => {
    const path = out('one.html')
    expect(run(shop.id, '--format', 'html', '--out', path)).toEqual({
      code: 0,
      stdout: '',
      stderr: `wrote 1 session to ${path}\n`,
    })
    expect(readFileSync(path, 'utf8')).toMatch(/^<!doctype html>.*<\/html>\n$/s)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(existsSync(`${path}.part`)).toBe(false)
  })

  it('a directory, a file per session', () => {
    const directory = out('all')
    expect(run('--all', '--format', 'atif', '--out', `${directory}/`).code).toBe(0)
    const names = readdirSync(directory).sort()
    expect(names).toEqual([shop, infra, gone].map((one) => `claude-${one.id}.json`).sort())
    for (const name of names)
      expect(atifProblems(JSON.parse(readFileSync(join(directory, name), 'utf8')))).toEqual([])
  })

  it('only what filters leave', () => {
    expect(run('--repo', 'infra').stdout).toContain('Check the wires')
    expect(run('--repo', 'infra').stdout).not.toContain('till')
    expect(run('--tool', 'Bash', '--has-error').stdout).toContain('Mend the till')
  })

  it.each([
    [[], 'which sessions?'],
    [['--all', '--format', 'html'], 'not one html document'],
    [['--all', '--format', 'pdf'], 'one of md'],
    [['@last', '--all'], 'either ids'],
    [['@last', '--endpoint', 'http://localhost'], '--format otlp'],
    [['@last', '--format', 'otlp', '--endpoint', 'ftp://x'], 'http: or https:'],
    [['@last', '--format', 'otlp', '--endpoint', 'nowhere'], 'is no address'],
    [['--repo', 'shp'], 'did you mean shop?'],
  ])('%j is refused', (args, hint) => {
    const { code, stderr } = run(...args)
    expect([code, stderr.includes(hint)]).toEqual([2, true])
  })

  it('says what is in the way', () => {
    mkdirSync(out('file-in-the-way'))
    writeFileSync(out('file-in-the-way/x'), '')
    const { code, stderr } = run(shop.id, '--out', out('file-in-the-way/x/y.md'))
    expect([code, stderr.includes('cannot write the export')]).toEqual([1, true])
    const missing = run(shop.id, '--out', out('missing/y.md'))
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('no such directory') })
  })

  it('a pipe or a device as it stands, a link where it leads', async () => {
    const pipe = out('pipe')
    spawnSync('mkfifo', [pipe])
    const reader = promisify(execFile)('cat', [pipe])
    expect(run(shop.id, '--out', pipe).code).toBe(0)
    expect((await reader).stdout).toContain('> Mend the till')
    expect(statSync(pipe).isFIFO()).toBe(true)
    symlinkSync(out('target.md'), out('link.md'))
    writeFileSync(out('target.md'), 'old')
    expect(run(shop.id, '--out', out('link.md')).code).toBe(0)
    expect(readFileSync(out('target.md'), 'utf8')).toContain('> Mend the till')
    expect(lstatSync(out('link.md')).isSymbolicLink()).toBe(true)
  })

  it('nothing by half: a write cut short is an error, and the old file stays', () => {
    const path = out('short.jsonl')
    writeFileSync(path, 'old')
    // A limit on the size of a file cuts a write as a full disk does: short first, and without an error.
    const limited = (redirect: string): SpawnSyncReturns<string> =>
      spawnSync(
        'sh',
        [
          '-c',
          `ulimit -f 2; "$0" "$@" ${redirect}`,
          process.execPath,
          cliPath,
          'export',
          shop.id,
          '--format',
          'otlp',
          ...(redirect === '' ? ['--out', path] : []),
        ],
        {
          env: { PATH: process.env['PATH'] ?? '', ...world.env },
          encoding: 'utf8',
        },
      )
    expect(run(shop.id, '--format', 'otlp').stdout.length).toBeGreaterThan(1024)
    expect(limited('')).toMatchObject({ status: 1, stderr: expect.stringContaining('[TOO_LARGE]') })
    expect(readFileSync(path, 'utf8')).toBe('old')
    expect(readdirSync(world.base).filter((name) => name.includes('short'))).toEqual(['short.jsonl'])
    const toStdout = limited(`> '${out('stdout')}'`)
    expect(toStdout).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^error: cannot write the output/),
    })
    expect(toStdout.stderr).not.toContain(' at ')
  })
})

describe('a session whose events are gone', () => {
  it.each(['md', 'html', 'jsonl'])('%s tells what is left, and that the rest is gone', (format) => {
    const { stdout } = run(gone.id, '--format', format)
    expect(stdout).toContain('Sell the balloon')
    expect(stdout).toContain('Sold.')
    expect(stdout).toMatch(/evicted at|"reason":"age"/)
    expect(stdout).not.toContain('only in the raw')
  })

  it('ATIF and spans say so, too', () => {
    const document = JSON.parse(run(gone.id, '--format', 'atif').stdout) as Trajectory
    expect(atifProblems(document)).toEqual([])
    expect(document.notes).toContain('evicted')
    expect(document.steps.map((step) => step.message)).toEqual(['Sell the balloon', 'Sold.'])
    expect(run(gone.id, '--format', 'otlp').stdout).toContain('recollect.loss')
  })
})

it.each(['lost', 'damaged'])(
  'a session whose bodies are %s is exported with its summaries, and named',
  async (how) => {
    const own = new World()
    const bad = tell(own.home, 'bad', [{ ask: 'Mend the till' }, { answer: 'Mended.' }])
    const good = tell(own.home, 'good', [{ ask: 'Check the wires' }, { answer: 'Fine.' }], {
      at: '2026-01-01T10:00:00Z',
    })
    await own.sweep()
    const path = segmentPath(join(own.paths.cacheDirectory, 'blobs'), bad.uid)
    if (how === 'lost') rmSync(path)
    else writeFileSync(path, Buffer.alloc(statSync(path).size, 7))
    for (const format of ['md', 'jsonl']) {
      const { code, stdout, stderr } = cli(own.env, 'export', '--all', '--format', format)
      expect(code).toBe(4)
      expect(stderr).toMatch(new RegExp(`${bad.uid}: \\d+ bodies cannot be read .*\\n.*recollect verify`))
      expect(stderr).not.toContain(good.uid)
      for (const text of ['Mend the till', 'Mended.', 'Check the wires', 'Fine.'])
        expect(stdout).toContain(text)
    }
    own.remove()
  },
)

describe('a collector', () => {
  it('is never named with a password or a key', () => {
    const withPassword = run(shop.id, '--format', 'otlp', '--endpoint', 'http://ada:hush@127.0.0.1:9')
    expect([withPassword.code, withPassword.stderr.includes('hush')]).toEqual([2, false])
    const withKey = run(shop.id, '--format', 'otlp', '--endpoint', 'http://127.0.0.1:9/v1/traces?key=hush')
    expect([withKey.code, withKey.stderr.includes('hush')]).toEqual([1, false])
  })

  it('gets every session, is asked again when busy, and may reject spans', async () => {
    const got: string[] = []
    let isFirst = true
    const server = createServer((request, response) => {
      let body = ''
      request.on('data', (part) => {
        body += part
      })
      request.on('end', () => {
        if (isFirst) {
          isFirst = false
          response.writeHead(503).end()
          return
        }
        got.push(`${request.method} ${request.url} ${request.headers['content-type']}`)
        JSON.parse(body)
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(got.length === 1 ? '{"partialSuccess":{"rejectedSpans":"2"}}' : '{}')
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const endpoint = `http://127.0.0.1:${port}`
    const child = spawn(
      process.execPath,
      [cliPath, 'export', '--all', '--format', 'otlp', '--endpoint', endpoint],
      {
        env: { PATH: process.env['PATH'] ?? '', ...world.env },
      },
    )
    let stderr = ''
    child.stderr.on('data', (part) => {
      stderr += part
    })
    const code = await new Promise<number | null>((resolve) => child.on('exit', resolve))
    server.close()
    expect([code, stderr.includes('rejected 2 spans')]).toEqual([4, true])
    expect(got).toEqual(Array.from({ length: 3 }, () => 'POST /v1/traces application/json'))
    expect(run('--all', '--format', 'otlp', '--endpoint', endpoint)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cannot be reached'),
    })
  })
})

it('exports more than fits in memory', async () => {
  const own = new World()
  const block = Array.from({ length: 900 }, (_, at) => `line ${at} of something that is long enough`).join(
    '\n',
  )
  const steps = Array.from({ length: 4 }, (_, at) => ({
    tool: 'Bash',
    input: { command: `cat ${at}` },
    output: `${at} ${block}`,
  }))
  for (let at = 0; at < 450; at++) tell(own.home, `m${at}`, [{ ask: `dump ${at}` }, ...steps])
  await own.sweep()
  const heapMb = 40
  for (const format of IS_LONG ? ['jsonl', 'md', 'otlp'] : ['md', 'otlp']) {
    const path = join(own.base, format)
    const child = spawnSync(
      process.execPath,
      [`--max-old-space-size=${heapMb}`, cliPath, 'export', '--all', '--format', format, '--out', path],
      { env: { PATH: process.env['PATH'] ?? '', ...own.env }, encoding: 'utf8' },
    )
    expect([child.status, child.stderr]).toEqual([
      0,
      expect.stringMatching(/^(?:wrote|sent) \d+ sessions to /),
    ])
    // Or the test would show nothing.
    if (format !== 'otlp') expect(statSync(path).size).toBeGreaterThan(heapMb << 20)
  }
  own.remove()
})
