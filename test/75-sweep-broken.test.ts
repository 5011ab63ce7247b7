// Every damage of test/corpus, swept by the real program: nothing crashes or hangs, every byte is in a record or in a
// named gap, the records around the damage are there, and mending the file brings the rest in, once.
import { spawnSync } from 'node:child_process'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { claude as claudeAdapter } from '../src/adapters/claude/index.ts'
import {
  CLAUDE,
  CLAUDE_ID,
  CLAUDE_PROJECT,
  CODEX,
  claude,
  codexMeta,
  GROK,
  grok,
  line,
  put,
} from './corpus/records.mjs'
import { BrokenHome, caseNames, type Gap, type State, type Sweep } from './setup/corpus.ts'
import { IS_LONG } from './setup/long.ts'

const MAX_MEGABYTES = 400
let open: BrokenHome | undefined
afterEach(() => {
  open?.remove()
  open = undefined
})

async function broken(name: string): Promise<BrokenHome> {
  open = new BrokenHome(name)
  await open.build()
  return open
}

const placeOf = ({ file, companion = '', offset }: Gap): string =>
  `${file}\0${companion}\0${String(offset).padStart(16)}`
const byPlace = (gaps: Gap[]): Gap[] => [...gaps].sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))

function unknownOf(coverage: { unknown: Record<string, number> }[]): Record<string, number> {
  const all = new Map<string, number>()
  for (const { unknown } of coverage)
    for (const [name, count] of Object.entries(unknown)) all.set(name, (all.get(name) ?? 0) + count)
  return Object.fromEntries(all)
}

/** Like every error: what it is, where, and what to do about it. */
const SAID = expect.stringMatching(/\S/)

/** Problems as they are written down in expected.json: below the home, very long names shortened. */
const problemsOf = (home: BrokenHome, { report }: Sweep) =>
  report.problems
    .map(({ path, ...rest }) => ({ path: path.slice(home.home.length + 1).replace(/d{250}/g, '…'), ...rest }))
    .sort((a, b) => (a.path < b.path ? -1 : 1))

function expectState(home: BrokenHome, swept: Sweep, expected: State): void {
  expect(swept.stderr).toBe('')
  expect(swept.status).toBe(expected.exit)
  expect(swept.peakMegabytes).toBeLessThan(MAX_MEGABYTES)
  expect(home.said()).toEqual(expected.said)
  expect(byPlace(home.gaps())).toEqual(byPlace(expected.gaps))
}

/** What the report says of a file, and what JSON.parse says of its bytes outside the gaps. */
function expectEveryByte(home: BrokenHome, { report }: Sweep): void {
  for (const { path, size, understood_bytes, gap_bytes } of report.coverage) {
    // Positions in a compressed file count unfolded bytes.
    if (path.endsWith('.zst')) continue
    expect(lstatSync(path).size).toBe(size)
    expect(understood_bytes + gap_bytes).toBeLessThanOrEqual(size)
    // What the sweep cannot read, nor can we, unless we are root.
    if (home.canRead(path)) expect(home.unaccounted(path)).toEqual([])
  }
}

async function expectNothingNew(home: BrokenHome): Promise<void> {
  const before = home.dump()
  const { newEvents, paths, skipped, readBytes } = await home.again()
  expect(newEvents).toEqual([0, 0])
  // What cannot be read is tried again each time.
  expect(paths.filter((path) => !skipped.includes(path))).toEqual([])
  expect(readBytes).toBe(0)
  expect(home.dump()).toBe(before)
}

/** Reading all of it again finds the same, and the memory is sound. */
async function expectWhole(home: BrokenHome, { gaps }: State): Promise<void> {
  expect((await home.again({ full: true })).newEvents).toEqual([0, 0])
  expect(byPlace(home.gaps())).toEqual(byPlace(gaps))
  expect(home.problems()).toEqual([])
}

describe('a sweep over', () => {
  it.each(caseNames)('%s', async (name) => {
    const home = await broken(name)
    const { expected } = home
    const first = home.sweep()
    console.log(`${name}: ${Math.round(first.peakMegabytes)} MB at most`)
    expectState(home, first, expected)
    expect(unknownOf(first.report.coverage)).toEqual(expected.unknown)
    expect(problemsOf(home, first)).toEqual(
      expected.problems
        .filter(({ isRoot }) => !isRoot || process.getuid?.() === 0)
        .map(({ path, reason, code }) => expect.objectContaining({ path, reason, code, hint: SAID })),
    )
    expectEveryByte(home, first)
    await expectNothingNew(home)
    // Where it is mended, the same is asked of it afterwards.
    if (IS_LONG || !expected.mended) await expectWhole(home, expected)

    expect(home.isMendable).toBe(expected.mended !== undefined)
    if (!expected.mended) return
    home.mend()
    const second = home.sweep()
    expectState(home, second, { ...expected.mended, said: { ...expected.said, ...expected.mended.said } })
    expectEveryByte(home, second)
    if (IS_LONG) await expectNothingNew(home)
    await expectWhole(home, expected.mended)
  })
})

describe('what is nested under dangerous names', () => {
  it('comes back as data and leaves no trace elsewhere', async () => {
    const home = await broken('proto-keys')
    home.sweep()
    const shown = JSON.parse(home.run(['show', '11111111', '--payload', '--json']).stdout) as {
      session: Record<string, unknown>
      events: { tool: string | null; payload: unknown }[]
    }
    expect(shown.session['repo']).toBe('constructor')
    expect(shown.session['domain']).toBe(null)
    const call = shown.events.find((event) => event.tool === '__proto__')
    expect(JSON.stringify(call?.payload)).toContain(
      '"input":{"__proto__":{"polluted":"yes"},"constructor":{"prototype":{"polluted":"yes"}},"hasOwnProperty":1}',
    )
    expect(JSON.stringify(shown.session)).not.toContain('polluted')
  })
})

const hasStrace = spawnSync('strace', ['-V']).status === 0

describe.skipIf(!hasStrace)('under strace', () => {
  it('nothing is opened below the home but transcripts', async () => {
    const home = await broken('symlinks')
    for (const path of [
      '.claude/.credentials.json',
      '.codex/auth.json',
      '.grok/auth.json',
      '.claude/settings.json',
    ])
      put(home.home, path, '{"decoy":true}')
    put(home.home, CODEX, line(codexMeta()))
    put(home.home, GROK, line(grok(1, 'first')))
    // A file for each thread: in one for all, a call that another thread interrupts stands on two lines, the first without its end.
    home.sweep(
      [],
      [...'strace -ff -qq -y -s 4096 -e trace=open,openat,openat2 -o'.split(' '), join(home.memory, 'trace')],
    )
    const opened = readdirSync(home.memory)
      .filter((name) => name.startsWith('trace.'))
      .flatMap((name) => readFileSync(join(home.memory, name), 'utf8').split('\n'))
      .filter((call) => !/= -1 E|O_DIRECTORY|O_PATH/.test(call))
      .map((call) => /"([^"]*)"/.exec(call)?.[1] ?? '')
      .filter((path) => path.startsWith(home.home) && !path.startsWith(home.memory))
      .map((path) => path.slice(home.home.length + 1))
    expect([...new Set(opened)].sort()).toEqual([CLAUDE, CODEX, GROK].sort())
  })

  it('an error of the disk in the middle of a file loses nothing before it', async () => {
    const home = new BrokenHome('bom')
    open = home
    mkdirSync(home.memory)
    const filler = 'word '.repeat(2000)
    const lines = Array.from({ length: 400 }, (_, n) => line(claude(n + 1, `number ${n + 1} ${filler}`)))
    const path = put(home.home, CLAUDE, lines.join(''))
    // The third megabyte cannot be read.
    const inject = ['-P', path, '-e', 'trace=pread64', '-e', 'inject=pread64:error=EIO:when=3']
    const first = home.sweep([], ['strace', '-f', '-qq', '-o', '/dev/null', ...inject])
    expect(first.status).toBe(4)
    expect(first.report.problems).toEqual([
      { path, reason: expect.stringContaining('EIO'), code: 'IO', hint: SAID, cause: SAID },
    ])
    const kept = home.said()[`claude:${CLAUDE_ID}`]?.length ?? 0
    expect(kept).toBeGreaterThan(100)
    expect(kept).toBeLessThan(400)
    // It is tried again, though neither size nor time have changed.
    const second = home.sweep()
    expect(second.status).toBe(0)
    expect(home.said()[`claude:${CLAUDE_ID}`]).toHaveLength(400)
    // And the ends of turns among them.
    expect(second.report.new_events).toBeGreaterThanOrEqual(400 - kept)
    expect(second.report.new_events).toBeLessThan(400)
    await expectNothingNew(home)
  })
})

describe('a report', () => {
  it('stays short over thousands of problems, and says how many there are', async () => {
    const home = new BrokenHome('symlinks')
    open = home
    mkdirSync(home.memory)
    put(home.home, CLAUDE, line(claude(1, 'first')))
    for (let n = 0; n < 3000; n++)
      symlinkSync('nowhere', join(home.home, CLAUDE_PROJECT, `x${n}\u001b[2J.jsonl`))
    const { report } = home.sweep()
    expect([report.problem_count, report.problems.length]).toEqual([3000, 1000])
    const { stdout } = home.run(['sweep'])
    expect(stdout.split('\n').length).toBeLessThan(40)
    expect(stdout).toContain('skipped 2980 more')
    expect(stdout).not.toContain('\u001b')
    expect(stdout.match(/^ {2}\S .*config\.toml$/gm)).toHaveLength(1)
  })
})

describe('a file that shrinks while it is read', () => {
  it('gives what was still there and ends', () => {
    const directory = mkdtempSync(join(tmpdir(), 'recollect-shrink-'))
    try {
      const path = put(
        directory,
        CLAUDE,
        Array.from({ length: 3000 }, (_, n) => line(claude(n + 1, 'x'.repeat(1000)))).join(''),
      )
      const source = claudeAdapter.claim(path)
      let count = 0
      for (const item of claudeAdapter.read(source as NonNullable<typeof source>, null)) {
        if (item.type !== 'event') continue
        if (++count === 10) truncateSync(path, 5000)
      }
      expect(count).toBeGreaterThanOrEqual(10)
      expect(count).toBeLessThan(3000)
    } finally {
      rmSync(directory, { recursive: true })
    }
  })
})
