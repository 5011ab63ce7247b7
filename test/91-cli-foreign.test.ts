// What was recorded is foreign text: whatever stands in it, no command lets a terminal obey it; and what is wide or narrow
// still fits.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { widthOf } from '../src/cli/text.ts'
import { SESSION, user, write } from './setup/claude.ts'
import { isHere } from './setup/programs.ts'
import { cli, cliPath, World } from './setup/sweeping.ts'

/** Title, clear, colour, clipboard, bell, C1, return, backspace; then marks that turn the direction of writing. */
const EVIL =
  '\u001b]0;owned\u0007\u001b[2J\u001b[31m\u001b]52;c;eA==\u001b\\\u0007\u009b31m\rover\b\b\u202efdp\u2066x\u2069\u200f'
const WIDE = '世界你好👩‍👩‍👧‍👦🏳️‍🌈'.repeat(20)

let world: World
beforeAll(async () => {
  world = new World()
  for (const [at, text] of [`${EVIL} words \u001b[8mglued`, WIDE, 'x'.repeat(3000)].entries()) {
    const session = SESSION.replace(/^1/, String(at + 2))
    const same = {
      sessionId: session,
      cwd: `/w/${text.slice(0, 60).replaceAll('/', '')}`,
      gitBranch: text.slice(0, 60),
    }
    const call = {
      type: 'tool_use',
      id: 't',
      name: `Bash${text.slice(0, 20)}`,
      input: { command: `echo ${text}` },
    }
    const result = { type: 'tool_result', tool_use_id: 't', content: `Error: ${text}`, is_error: true }
    write(join(world.home, '.claude', 'projects', '-w', `${session}.jsonl`), [
      { ...user('a', null, text), ...same },
      {
        ...user('b', 'a', ''),
        ...same,
        type: 'assistant',
        message: {
          role: 'assistant',
          id: `m${at}`,
          model: `opus${text.slice(0, 9)}\u001b[8m`,
          usage: { input_tokens: 1, output_tokens: 1 },
          content: [{ type: 'text', text }, call],
        },
      },
      { ...user('c', 'b', [result]), ...same },
      { type: 'custom-title', customTitle: text, sessionId: session },
    ])
  }
  // Ids of a log that anybody may write, one of them its own ancestor.
  const ids = [`a${EVIL}`, `b${EVIL}`, 'c']
  write(join(world.home, '.ollim-bot', 'session_history.jsonl'), [
    { session_id: ids[1], event: 'compacted', timestamp: '2026-11-15T10:01:00Z', parent_session_id: ids[0] },
    { session_id: ids[2], event: 'compacted', timestamp: '2026-11-15T10:02:00Z', parent_session_id: ids[1] },
    { session_id: ids[0], event: 'compacted', timestamp: '2026-11-15T10:03:00Z', parent_session_id: ids[2] },
  ])
  await world.sweep()
  world.env['PATH'] = ''
})
afterAll(() => world.remove())

const EVIL_ID = SESSION.replace(/^1/, '2').slice(0, 8)
const READING = [
  'status',
  'sessions',
  `show ${EVIL_ID}`,
  `show ${EVIL_ID} --full --thinking`,
  `show ${EVIL_ID}#1`,
  'search words',
  'search nothing-of-it',
  // The part of a word, as a search sees it, that begins in a colour.
  'search mglu',
  `digest ${EVIL_ID}`,
  `lineage ${EVIL_ID}`,
  'lineage',
  'lineage lineage:c',
  'sessions --all',
  'usage session',
  'usage model',
  'usage repo',
  'patterns',
  'retro --since 2020-01-01',
  `export ${EVIL_ID} --format md`,
  'doctor',
  `pin ${EVIL_ID}`,
  `decide ${EVIL_ID} so`,
  'evict --dry-run',
  'sweep --dry-run',
  'verify',
]
const obeyed = (text: string): string[] =>
  [
    ...new Set(
      text.match(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g),
    ),
  ].map((sign) => sign.charCodeAt(0).toString(16))

describe('nothing recorded is obeyed', () => {
  it.each(READING)('by a terminal that shows %s', (words) => {
    const { stdout, stderr, code } = cli(world.env, ...words.split(' '))
    // A circle in a log is told by its exit code.
    // Both draw the log that goes in a circle.
    const isCircle = words === 'lineage' || words.endsWith(':c')
    expect([code, obeyed(stdout + stderr)]).toEqual([isCircle ? 4 : 0, []])
  })

  it.skipIf(!isHere('script'))(
    'when variables are shown on a terminal (script); a shell gets every byte',
    () => {
      expect(obeyed(cli(world.env, 'env', EVIL_ID).stdout)).toContain('1b')
      const { stdout } = spawnSync(
        'script',
        ['-qec', `"${process.execPath}" "${cliPath}" env ${EVIL_ID}`, '/dev/null'],
        {
          env: { ...world.env, PATH: process.env['PATH'] ?? '', TERM: 'dumb' },
          encoding: 'utf8',
        },
      )
      expect(stdout).toContain('HELIX_REPO=')
      expect(obeyed(stdout.replaceAll('\r\n', '\n'))).toEqual([])
    },
  )
})

describe.skipIf(!isHere('script'))('on a terminal (script)', () => {
  const INVISIBLE = '\u200b\u{e0041}\u00ad\u2028\ufeff\u007f'
  const seen = (words: string): string => {
    const { stdout } = spawnSync(
      'script',
      ['-qec', `"${process.execPath}" "${cliPath}" ${words}`, '/dev/null'],
      {
        env: { ...world.env, PATH: process.env['PATH'] ?? '', TERM: 'dumb', LANG: 'C.UTF-8' },
        encoding: 'utf8',
      },
    )
    return stdout.replaceAll('\r\n', '\n')
  }
  const unseen = (text: string): string[] => [
    ...obeyed(text),
    ...(text.match(/[\u2028\u2029]|(?!\u200c|\u200d|\ufe0e|\ufe0f)\p{Default_Ignorable_Code_Point}/gu) ?? []),
  ]

  it.each([
    `show ${EVIL_ID} --raw`,
    `show ${EVIL_ID} --json --payload`,
    'sessions --json',
    'search words --json',
    `export ${EVIL_ID} --format jsonl`,
    `export ${EVIL_ID} --format html`,
    `digest ${EVIL_ID} --json`,
    'lineage --json',
    `show ${EVIL_ID} --full`,
    `show 'no${EVIL}${INVISIBLE}such'`,
  ])('%s shows nothing that is obeyed or cannot be seen', (words) => {
    const shown = seen(words)
    expect(shown.length).toBeGreaterThan(20)
    expect(unseen(shown)).toEqual([])
  })

  it('records are escaped as JSON has it; a pipe gets them as they are', () => {
    const piped = cli(world.env, 'show', EVIL_ID, '--raw').stdout
    expect(obeyed(piped)).toEqual(expect.arrayContaining(['9b', '202e']))
    const shown = seen(`show ${EVIL_ID} --raw`)
    expect(shown).toContain('\\u009b31m')
    const records = (text: string): unknown[] =>
      text
        .trimEnd()
        .split('\n')
        .map((one) => JSON.parse(one))
    expect(records(shown)).toEqual(records(piped))
  })
})

describe('a terminal of 40 columns', () => {
  it.each(['sessions', 'sessions --sort cost', 'usage session', 'status', 'lineage', 'doctor'])(
    'fits %s',
    (words) => {
      const { stdout } = cli({ ...world.env, COLUMNS: '40' }, ...words.split(' '))
      // A path, an id and a command are there to be copied: they stay whole.
      const isWhole = /\/\S{30,}|\S{36,}/
      expect(stdout.split('\n').filter((line) => widthOf(line) > 40 && !isWhole.test(line))).toEqual([])
    },
  )
})

it('help for a command that does not exist is refused, with the one that was meant', () => {
  const { code, stdout, stderr } = cli(world.env, 'help', 'serch')
  expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining('did you mean search?')])
})
