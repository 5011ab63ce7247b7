// `recollect show`: a session as a person reads it, on sessions that real agents wrote.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { widthOf } from '../src/cli/text.ts'
import type { Digest } from '../src/digest/digest.ts'
import { legacyTold } from '../src/event/legacy.ts'
import { diffsOf } from '../src/export/diff.ts'
import type { Session, SessionEvent } from '../src/model.ts'
import { listSessions } from '../src/query/sessions.ts'
import { transcript } from '../src/query/transcript.ts'
import { segmentPath } from '../src/store/segments.ts'
import { assistant, call, result, SESSION, user, write } from './setup/claude.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { cli, cliPath, World } from './setup/sweeping.ts'

const SCENARIOS: Record<string, string[]> = {
  claude: ['tools', 'subagent', 'compact', 'fork', 'big_unicode_secret', 'thinking'],
  codex: ['tools', 'subagent'],
  grok: ['tools', 'subagent'],
}

let world: World
let sessions: Session[]
const broken = '77777777-7777-4777-8777-777777777777'
beforeAll(async () => {
  world = new World()
  for (const [client, scenarios] of Object.entries(SCENARIOS)) {
    const directory = unpackAgent(client)
    for (const scenario of scenarios) cpSync(join(directory, scenario), world.home, { recursive: true })
  }
  const damaged = join(world.home, '.claude', 'projects', '-w')
  mkdirSync(damaged, { recursive: true })
  writeFileSync(join(damaged, `${broken}.jsonl`), `${prompt('hello\\u001b[31m there')}\nnot json at all\n`)
  await world.sweep()
  sessions = world.read((handle) => listSessions(handle))
})
afterAll(() => world.remove())

const prompt = (text: string): string =>
  `{"type":"user","uuid":"u-1","parentUuid":null,"sessionId":"${broken}","timestamp":"2026-11-15T10:00:00.000Z","cwd":"/w","message":{"role":"user","content":"${text}"}}`

/** The session with this first prompt. */
const idOf = (flavor: string, text: string): string => {
  const rows = world.read((handle) =>
    handle.memory.prepare('SELECT session_uid, digest FROM digests WHERE flavor = ?').all(flavor),
  ) as unknown as { session_uid: string; digest: string }[]
  const found = rows.find((row) => (JSON.parse(row.digest) as Digest).first_prompt.startsWith(text))
  if (!found) throw new Error(`no ${flavor} session about ${text}`)
  return found.session_uid
}
const show = (id: string, ...args: string[]): string => {
  const { code, stdout, stderr } = cli({ ...world.env, TZ: 'UTC' }, 'show', id, ...args)
  expect([code, stderr]).toEqual([0, ''])
  return stdout
}

describe('a session', () => {
  it.each(['claude', 'codex', 'grok'])(
    'of %s reads as a story: prompt, calls with results, edits as diffs',
    (flavor) => {
      const text = show(idOf(flavor, 'The tests of calc.js fail'))
      expect(text).toMatch(/^── \d\d:\d\d:\d\d #\d+ you ─+\nThe tests of calc\.js fail\. Find the bug/m)
      expect(text).toMatch(/#\d+ +I will read the source/)
      expect(text).toMatch(/▸ \w+ {2}ls -1 +ok {2}3 lines {2}[\d.]+m?s/)
      expect(text).toMatch(/▸ \w+ {2}node tset\.js +exit 1 {2}\d+ lines/)
      expect(text).toMatch(/│ Error: Cannot find module '\/home\/dev\/proj\/tset\.js'/)
      expect(text).toMatch(/▸ \w+ {2}.*calc\.js +\+1 −1/)
      expect(text).toMatch(/│ - *return a - b;\n +│ \+ *return a \+ b;/)
      expect(text).toMatch(/node test\.js +again {2}ok/)
      expect(text).toMatch(/\d+ lines folded: --full/)
      expect(text).toMatch(/\d+ lifecycle records left out/)
    },
  )

  it('has a head with place, time, cost, outcome and the way back into it', () => {
    const uid = idOf('codex', 'The tests of calc.js fail')
    const text = show(uid)
    expect(text).toContain(`${uid}\nproj · main · gpt-5.5\n`)
    expect(text).toMatch(/^2026-11-15 \d\d:\d\d, [\d.]+s.* · 1 turn, 6 calls, 2 errors$/m)
    expect(text).toMatch(
      /^18\.4K tokens \(6\.0K in, 321 out, 12\.0K cache\) · \$0\.\d+ · success: tests passed \(certain\)$/m,
    )
    expect(text).toMatch(/^\$ cd \/home\/dev\/proj && codex resume [\w-]+$/m)
  })

  it.each(['claude', 'codex', 'grok'])('of %s has its sub-agent below the call that started it', (flavor) => {
    const text = show(idOf(flavor, 'Delegate counting'))
    const [before, inside] = text.split('┌ sub-agent') as [string, string]
    expect(before.trimEnd().split('\n').at(-1)).toMatch(/▸ \w*[aA]gent/)
    expect(inside).toMatch(/^│ ── .* task ─+\n│ SUBTASK-A: count the files/m)
    expect(inside).toMatch(/^│ .*▸ \w+ {2}ls -1 \| wc -l +ok/m)
    expect(inside).toMatch(/^│ .*SUB-RESULT: 3 files\./m)
    expect(
      inside
        .trim()
        .split('\n')
        .some((line) => /^\d\d:.*counted 3 files/.test(line)),
    ).toBe(true)
  })

  it('marks compactions, and says what is inherited', () => {
    expect(show(idOf('claude', 'First fact'))).toMatch(/^══ .* conversation compacted \(manual\) ═+$/m)
    const fork = idOf('claude', 'Fork B')
    expect(show(fork)).toContain('13 events inherited from another session')
    expect(show(fork, '--full')).toContain('(inherited)')
  })

  it('shows what was redacted, and what could not be understood', () => {
    const secret = show(idOf('claude', 'Unicode prompt'))
    expect(secret).toMatch(/^redacted {2}aws-access-key ×2, github-token$/m)
    expect(secret).toMatch(/The key id is \[REDACTED:aws-access-key:/)
    const damaged = show(broken)
    expect(damaged).toMatch(/^gap {7}▲ not-json ×1: 15 B could not be understood$/m)
    expect(damaged).toContain('hello there')
    expect(damaged).not.toContain('\x1b')
  })

  it('folds thinking, and unfolds it on request', () => {
    const id = idOf('claude', 'Think about how many')
    expect(show(id)).toMatch(/thinking: The user wants a count of exports/)
    expect(show(id, '--thinking')).toMatch(
      /#\d+ +thinking: The user wants a count of exports\. I should look at the file/,
    )
  })

  it('unfolds everything with --full', () => {
    const text = show(idOf('claude', 'The tests of calc.js fail'), '--full')
    expect(text).toContain('│ Node.js v20.20.2')
    expect(text).toContain('│ ALL TESTS PASS')
    expect(text).not.toContain('folded')
  })

  it.each([80, 160])('fits %i columns', (columns) => {
    for (const { session_uid } of sessions.slice(0, 6)) {
      const { stdout } = cli({ ...world.env, COLUMNS: String(columns) }, 'show', session_uid)
      const lines = stdout.split('\n').filter((line) => !/^resume |^(claude|codex|grok):/.test(line))
      expect(lines.filter((line) => widthOf(line) > columns)).toEqual([])
    }
  })

  it('is readable without colour: the text is the same', () => {
    const id = idOf('claude', 'The tests of calc.js fail')
    const coloured = show(id, '--color', 'always')
    expect(coloured).toContain('\x1b[')
    expect(coloured.replace(/\x1b\[\d+m/g, '')).toBe(show(id))
  })
})

describe('a part of a session', () => {
  it('is one event with all it says, a call with its result', () => {
    const id = idOf('claude', 'The tests of calc.js fail')
    const seq = /#(\d+) +▸ Bash {2}node tset/.exec(show(id))?.[1]
    expect(show(`${id}#${seq}`)).toMatch(/▸ Bash {2}node tset\.js +exit 1[\s\S]*│ Node\.js v20/)
  })

  it('is an event and its neighbours', () => {
    const id = idOf('claude', 'The tests of calc.js fail')
    const events = JSON.parse(show(`${id}#22`, '--around', '3', '--json')) as { events: SessionEvent[] }
    expect(events.events.map((event) => event.seq)).toEqual([19, 20, 21, 22, 23, 24, 25])
    expect(show(`${id}#22`, '--around', '3')).toMatch(/#21 [\s\S]*#22 [\s\S]*#24 /)
    expect(cli(world.env, 'show', id, '--around', '3')).toMatchObject({ code: 2 })
    expect(cli(world.env, 'show', `${id}#99999`, '--json')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('"NOT_FOUND"'),
    })
  })

  it('is what is of a kind', () => {
    const text = show(idOf('claude', 'The tests of calc.js fail'), '--kind', 'edit,error')
    expect(text.match(/#\d+ /g)).toHaveLength(3)
  })
})

describe('other forms', () => {
  it('--raw gives the redacted records, one per line', () => {
    const id = idOf('claude', 'Unicode prompt')
    const lines = show(id, '--raw').trim().split('\n')
    const { events } = JSON.parse(show(id, '--json', '--payload')) as { events: { payload: unknown }[] }
    // What was concluded from them is no record of the agent's.
    const records = events.map((event) => event.payload).filter((one) => !('inferred' in Object(one)))
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(records)
    expect(records.length).toBeLessThan(events.length)
    expect(lines.join('')).not.toMatch(/AKIA[A-Z0-9]{16}/)
  })

  it.each(['md', 'html'])('--format %s is what export makes of it, of a whole session', (format) => {
    const exported = cli({ ...world.env, TZ: 'UTC' }, 'export', '@last', '--format', format)
    expect(exported.stdout.length).toBeGreaterThan(500)
    expect(show('@last', '--format', format)).toBe(exported.stdout)
    expect(cli(world.env, 'show', '@last#1', '--format', format)).toMatchObject({ code: 2 })
  })

  it('--format json is --json', () => {
    expect(show('@last', '--format', 'json')).toBe(show('@last', '--json'))
    expect(cli(world.env, 'show', '@last', '--format', 'jsn')).toMatchObject({ code: 2 })
  })
})

describe('bodies', () => {
  it('of edits in any of the usual shapes become diffs, also where no adapter told them', () => {
    const shapes: [unknown, string, string[]][] = [
      [{ input: { file_path: 'a', old_string: 'x\ny\n', new_string: 'x\nz\n' } }, 'a', [' x', '-y', '+z']],
      [{ rawInput: { path: 'b', old_str: '1', new_str: '2' } }, 'b', ['-1', '+2']],
      [{ arguments: '{"file_path":"c","content":"one\\ntwo\\n"}' }, 'c', ['+one', '+two']],
      [{ input: '*** Begin Patch\n*** Update File: d\n@@\n-p\n+q\n*** End Patch' }, 'd', ['-p', '+q']],
      [
        {
          arguments: {
            command: ['bash', '-c', 'apply <<E\n*** Begin Patch\n*** Add File: e\n+r\n*** End Patch\nE'],
          },
        },
        'e',
        ['+r'],
      ],
    ]
    for (const [payload, path, lines] of shapes)
      expect(diffsOf(legacyTold(payload))).toEqual([expect.objectContaining({ path, lines })])
    const many = {
      input: {
        file_path: 'f',
        edits: [
          { old_string: '1', new_string: '2' },
          { old_string: '3', new_string: '' },
        ],
      },
    }
    expect(diffsOf(legacyTold(many))).toEqual([
      { path: 'f', added: 1, removed: 2, lines: ['-1', '+2', '@', '-3'] },
    ])
    for (const nothing of [
      null,
      1,
      'x',
      {},
      { input: null },
      { arguments: '{' },
      { input: { command: 'ls' } },
    ])
      expect(diffsOf(legacyTold(nothing))).toEqual([])
  })
})

it('a command of several lines is whole with --full, and its digest finds what a later line made', async () => {
  const own = new World()
  const uuid = (at: number): string => `00000000-0000-4000-8000-00000000000${at}`
  const command = 'cd a\ngit commit -m "$(cat <<E\nSay why\nE\n)"'
  write(join(own.home, '.claude', 'projects', '-w', `${SESSION}.jsonl`), [
    user(uuid(1), null, 'go'),
    assistant(uuid(2), uuid(1), [call('c1', 'Bash', { command })]),
    user(uuid(3), uuid(2), [result('c1', '[main 1a2b3c4] Say why')]),
  ])
  await own.sweep()
  const lines = (...args: string[]): string[] =>
    cli({ ...own.env, TZ: 'UTC' }, 'show', '@last', ...args)
      .stdout.split('\n')
      .filter((line) => line.includes('│'))
      .map((line) => line.trim())
  expect(lines('--full')).toEqual([
    '│ $ cd a',
    '│   git commit -m "$(cat <<E',
    '│   Say why',
    '│   E',
    '│   )"',
    '│ [main 1a2b3c4] Say why',
  ])
  expect(lines()).toEqual([])
  const { commits } = JSON.parse(cli(own.env, 'digest', '@last', '--json').stdout) as { commits: unknown }
  expect(commits).toMatchObject([{ sha: '1a2b3c4', subject: 'Say why' }])
  own.remove()
})

describe('a long session', () => {
  it('is shown event by event, in memory that does not grow with it', async () => {
    const long = new World()
    const directory = join(long.home, '.claude', 'projects', '-w')
    mkdirSync(directory, { recursive: true })
    const id = '88888888-8888-4888-8888-888888888888'
    const lines: string[] = []
    const add = (at: number, type: string, content: unknown): void => {
      const base = { uuid: `u-${at}`, parentUuid: at === 0 ? null : `u-${at - 1}`, sessionId: id, cwd: '/w' }
      const timestamp = new Date(Date.UTC(2026, 0, 1) + at * 10).toISOString()
      lines.push(
        JSON.stringify({ ...base, type, timestamp, message: { role: type, id: `m-${at}`, content } }),
      )
    }
    add(0, 'user', 'go')
    for (let at = 1; at < 20_000; at += 2) {
      add(at, 'assistant', [
        { type: 'tool_use', id: `t-${at}`, name: 'Bash', input: { command: `echo ${at}` } },
      ])
      add(at + 1, 'user', [{ type: 'tool_result', tool_use_id: `t-${at}`, content: `${at} `.repeat(500) }])
    }
    writeFileSync(join(directory, `${id}.jsonl`), `${lines.join('\n')}\n`)
    await long.sweep()
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['--max-old-space-size=32', cliPath, 'show', id, '--full'],
      {
        env: { PATH: process.env['PATH'] ?? '', LANG: 'C.UTF-8', ...long.env },
        encoding: 'utf8',
        maxBuffer: 1 << 30,
      },
    )
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout.match(/▸ Bash {2}echo \d+/g)).toHaveLength(10_000)
    expect(stdout.length).toBeGreaterThan(20_000_000)
    // The first entry does not wait for the last one.
    long.read((handle) => {
      const first = transcript(handle, `claude:${id}`).next()
      expect(first.value).toMatchObject({ type: 'event', event: { kind: 'user_msg' } })
    })
    long.remove()
  })
})

it('says of an evicted session what was asked and answered, beside a decision too, and where an event went', () => {
  const own = new World()
  cpSync(join(unpackAgent('codex'), 'tools'), own.home, { recursive: true })
  const run = (...args: string[]): ReturnType<typeof cli> => cli(own.env, ...args)
  expect(run('sweep').code).toBe(0)
  own.configure('[session_memory.retention]\nraw_soft_cap_bytes = 1\n')
  expect(run('evict').code).toBe(0)
  const gone =
    /asked {6}The tests of calc\.js fail[\s\S]+answered [\s\S]+its events were evicted; recollect digest codex:/
  expect(run('show', '@last').stdout).toMatch(gone)
  expect(run('decide', '@last', 'keep', 'it').code).toBe(0)
  expect(run('show', '@last').stdout).toMatch(gone)
  const { code, stderr } = run('show', '@last#8')
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/this event was evicted on .*[\s\S]+try: recollect digest/),
  ])
  expect(run('show', '@last#99999').stderr).toContain('there is no such event')
  own.remove()
})

it.each(['lost', 'damaged'])('says that summaries stand in for bodies which are %s', async (how) => {
  const own = new World()
  cpSync(join(unpackAgent('codex'), 'tools'), own.home, { recursive: true })
  await own.sweep()
  const run = (...args: string[]): ReturnType<typeof cli> => cli(own.env, 'show', '@last', ...args)
  expect(JSON.parse(run('--json', '--payload').stdout)).toMatchObject({ unread_bodies: 0 })
  const uid = own.read((handle) => listSessions(handle)[0]?.session_uid as string)
  const path = segmentPath(join(own.paths.cacheDirectory, 'blobs'), uid)
  if (how === 'lost') rmSync(path)
  else writeFileSync(path, Buffer.alloc(statSync(path).size, 7))
  const warning = new RegExp(`warning: ${uid}: \\d+ bodies cannot be read [\\s\\S]+try: recollect verify`)
  const text = run('--full')
  expect([text.code, text.stderr]).toEqual([4, expect.stringMatching(warning)])
  expect(text.stdout).toMatch(/The tests of calc\.js fail[\s\S]+\n\d+ bodies cannot be read/)
  const document = run('--json', '--payload')
  expect([document.code, document.stderr]).toEqual([4, expect.stringMatching(warning)])
  const { events, unread_bodies } = JSON.parse(document.stdout) as {
    events: unknown[]
    unread_bodies: number
  }
  expect([events.length > 10, unread_bodies > 10]).toEqual([true, true])
  expect(JSON.parse(run('--json').stdout)).toMatchObject({ unread_bodies: null })
  expect(run('--raw')).toMatchObject({ code: 4, stdout: '' })
  own.remove()
})
