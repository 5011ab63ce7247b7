// TAB in real shells on real terminals, over a memory whose logs name everything so that a shell would run it: no value is
// obeyed, whether the program offers it or not. RECOLLECT_TEST_SHELLS sets how many made-up names are tried besides the
// list below (`npm run test:shells`: 400). PowerShell comes with no distribution's packages: its script is read, not run.
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isSafeValue } from '../src/cli/safe-value.ts'
import { assistant, call, user, write } from './setup/claude.ts'
import { amountOf } from './setup/long.ts'
import { isHere } from './setup/programs.ts'
import fc from './setup/properties.ts'
import { jsonl, writeRollout } from './setup/rollout.ts'
import { cli, cliPath, World } from './setup/sweeping.ts'
import { TAB, Terminal } from './setup/terminal.ts'

const COUNT = amountOf('SHELLS', 12, 400)

/** Each would leave a file `owned…` behind where it is run. */
const HOSTILE = [
  '$(touch owned)',
  `$(touch\${IFS}owned)1`,
  '`touch owned`',
  'a$(touch owned)b',
  '"$(touch owned)"',
  "'$(touch owned)'",
  '"; touch owned; "',
  "'; touch owned; '",
  'a;touch owned',
  'a&touch owned',
  'a|touch owned',
  'a||touch owned',
  'a\ntouch owned',
  'a\n$(touch owned)',
  'a\rtouch owned\r',
  'a\r\ntouch owned\r\n',
  '\ttouch owned',
  '<(touch owned)',
  '=(touch owned)',
  '>owned',
  'a>owned',
  '(touch owned)',
  'a(touch owned)',
  '{a,$(touch owned)}',
  `\${x:-$(touch owned)}`,
  "$'\\x24(touch owned)'",
  '$(( a[$(touch owned)] ))',
  '@(touch owned)',
  '*(e:"touch owned":)',
  '%(touch owned)',
  '\\$(touch owned)',
  '\\\\$(touch owned)',
  '\u0003touch owned\r',
  '\u0015touch owned\r',
  '\u001b[201~touch owned\r',
  '\u001b]0;title\u0007$(touch owned)',
  '\u009b31m$(touch owned)',
  '\u202e$(touch owned)',
  '!touch owned',
  '!!',
  '^a^touch owned',
  '*',
  '?',
  '[a-z]*',
  '~root',
  '~',
  '=ls',
  '%1',
  '#touch',
  '-rf',
  '--help',
  '$HOME',
  'a b',
  '\u{1f4a9}',
  'é',
  '‘$(touch owned)’',
]

const fragments = fc.constantFrom(
  ...['$(touch owned)', '`touch owned`', '$(', ')', '`', ';touch owned', '\n', '\r', '\t', '"', "'", '\\'],
  ...[
    '$',
    '{',
    '}',
    '*',
    '?',
    '[',
    '!',
    '~',
    '-',
    '#',
    '&',
    '|',
    '<(touch owned)',
    '\u001b[A',
    '\u0004',
    '=',
    ' ',
  ],
  ...['a', 'B9', 'x.y', ':', '@', '%', '^', ',', '‘'],
)
const MADE_UP = fc.sample(fc.array(fragments, { minLength: 1, maxLength: 7 }), { numRuns: COUNT, seed: 23 })
const NAMES = [...HOSTILE, ...MADE_UP.map((parts) => parts.join(''))]

/** A session of each of two agents that calls everything by this name. */
function hostileSession(home: string, name: string, at: number): void {
  const of = { sessionId: `${name}${at}`, cwd: `/w/${name}`, gitBranch: name }
  const project = join(home, '.claude', 'projects', `-w${at}`)
  write(join(project, `s${at}.jsonl`), [
    user(`a${at}`, null, `${name} asked`, of),
    assistant(`b${at}`, `a${at}`, [call(`t${at}`, name, { command: 'x' })], of, { model: name }),
    { type: 'custom-title', customTitle: name, sessionId: of.sessionId },
  ])
  const timestamp = '2026-11-15T12:00:00Z'
  const meta = {
    id: `${name}${at}c`,
    timestamp,
    cwd: `/w/${name}`,
    originator: 'x',
    cli_version: '0.121.0',
    git: { branch: name },
  }
  const uuid = `11111111-1111-4111-8111-${String(at).padStart(12, '0')}`
  writeRollout(
    join(home, '.codex'),
    `2026/11/15/rollout-2026-11-15T12-00-00-${uuid}.jsonl`,
    jsonl([
      { timestamp, type: 'session_meta', payload: meta },
      { timestamp, type: 'turn_context', payload: { cwd: meta.cwd, model: name } },
      {
        timestamp,
        type: 'response_item',
        payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: name }] },
      },
    ]),
  )
}

let world: World
let bin: string
let place: string
beforeAll(async () => {
  world = new World()
  for (const [at, name] of NAMES.entries()) hostileSession(world.home, name, at)
  await world.sweep()
  // The newest: tools of the last sessions are offered, and long runs have more hostile ones than that.
  hostileSession(world.home, 'harmless', NAMES.length)
  await world.sweep()
  bin = join(world.base, 'bin')
  place = join(world.base, 'place')
  mkdirSync(bin)
  mkdirSync(place)
  // Answers from a file where there is one; else the program itself. Any other call is written down, not run.
  writeFileSync(
    join(bin, 'recollect'),
    `#!/bin/sh
if [ "$1" != complete ] && [ "$1" != completion ]; then { printf '<%s>' "$@"; echo; } >>"$TEST_LOG"; exit; fi
if [ "$1" = complete ] && [ -f "$TEST_ANSWERS" ]; then exec cat "$TEST_ANSWERS"; fi
exec "${process.execPath}" "${cliPath}" "$@"
`,
  )
  chmodSync(join(bin, 'recollect'), 0o755)
})
afterAll(() => world.remove())

const log = (): string => join(world.base, 'log')
const answers = (): string => join(world.base, 'answers')

const COMMANDS = {
  bash: 'bash --norc --noprofile -i',
  zsh: 'zsh -f -i',
  fish: 'fish --no-config',
}
type Driven = keyof typeof COMMANDS
const START: Record<Driven, string> = {
  bash: "bind 'set completion-query-items 0'; bind 'set page-completions off'; source <(recollect completion bash)",
  zsh: 'LISTMAX=10000; autoload -Uz compinit; compinit -u -D; source <(recollect completion zsh)',
  fish: 'recollect completion fish | source',
}

async function opened(shell: Driven): Promise<Terminal> {
  rmSync(answers(), { force: true })
  rmSync(log(), { force: true })
  rmSync(place, { recursive: true, force: true })
  mkdirSync(place)
  const terminal = new Terminal(COMMANDS[shell], {
    cwd: place,
    env: {
      ...world.env,
      PATH: `${bin}:${process.env['PATH'] ?? ''}`,
      LANG: 'C.UTF-8',
      TERM: 'xterm',
      TEST_LOG: log(),
      TEST_ANSWERS: answers(),
    },
  })
  await terminal.run(` ${START[shell]}`)
  return terminal
}

const ran = (): string[] => (existsSync(log()) ? readFileSync(log(), 'utf8').trimEnd().split('\n') : [])
/** What a terminal would obey, but for what shells themselves draw with. */
const isPlainText = (text: string): boolean => /^[\x20-\x7e\u00a0-\u{10ffff}\t\n]*$/u.test(text)

describe('what is offered', () => {
  it('is in the memory, and of it only what no shell could run', () => {
    const count = (sql: string): number =>
      world.read(({ memory }) => (memory.prepare(sql).get() as { n: number }).n)
    const hostile = NAMES.length - 5
    expect(count("SELECT count(*) AS n FROM sessions WHERE flavor = 'codex'")).toBeGreaterThan(hostile)
    expect(
      count("SELECT count(*) AS n FROM sessions WHERE native_session_id LIKE '%touch owned%'"),
    ).toBeGreaterThan(40)
    expect(
      count("SELECT count(DISTINCT model) AS n FROM sessions WHERE model LIKE '%touch owned%'"),
    ).toBeGreaterThan(30)
    expect(
      count("SELECT count(DISTINCT repo) AS n FROM sessions WHERE repo LIKE '%touch owned%'"),
    ).toBeGreaterThan(20)
    for (const typed of [
      ['show', ''],
      ['digest', ''],
      ['sessions', '--repo', ''],
      ['sessions', '--model', ''],
      ['sessions', '--domain', ''],
      ['sessions', '--tool', ''],
      ['sessions', '--model='],
    ]) {
      const { stdout, stderr } = cli(world.env, 'complete', '--', ...typed)
      const lines = stdout.trimEnd().split('\n')
      expect([lines.pop(), stderr]).toEqual([':4', ''])
      expect(isPlainText(stdout), typed.join(' ')).toBe(true)
      for (const line of lines) {
        const value = line.split('\t')[0] as string
        expect([value, isSafeValue(value) || value === '@last']).toEqual([value, true])
      }
      if (typed[1] === '--repo' || typed[1] === '--tool')
        expect(lines.map((line) => line.split('\t')[0])).toContain('harmless')
    }
  })
})

describe.each(Object.keys(COMMANDS) as Driven[])('in %s', (shell) => {
  it.skipIf(!isHere(shell))('TAB completes (skipped without it)', async () => {
    const terminal = await opened(shell)
    for (const line of [
      `sho${TAB} @la${TAB}`,
      `sessions --repo harm${TAB}`,
      `sessions --mod${TAB}harm${TAB}`,
      `sessions --repo=harm${TAB}`,
    ])
      await terminal.run(`recollect ${line}`)
    await terminal.close()
    expect(ran()).toEqual([
      '<show><@last>',
      '<sessions><--repo><harmless>',
      '<sessions><--model><harmless>',
      '<sessions><--repo=harmless>',
    ])
  })

  it.skipIf(!isHere(shell))('TAB runs nothing of what is remembered, nor of what is typed', async () => {
    const terminal = await opened(shell)
    for (const line of [
      'show ',
      'digest ',
      'sessions --repo ',
      'sessions --model ',
      'sessions --tool ',
      'sessions --model=',
    ])
      for (const keys of [TAB, TAB + TAB, TAB + TAB + TAB]) {
        terminal.type(`recollect ${line}${keys}`)
        await terminal.settled()
      }
    // Of the word behind them: in the word before the cursor zsh itself expands what is typed.
    for (const typed of ['$(touch owned)', '`touch owned`', '(touch owned)']) {
      terminal.type(`recollect show ${typed} x${TAB}${TAB}`)
      await terminal.settled()
    }
    await terminal.close()
    expect(readdirSync(place)).toEqual([])
    expect(ran()).toEqual([])
  })

  it.skipIf(!isHere(shell))(
    'a program that offers anything cannot make TAB, or the line it fills, run it',
    async () => {
      const terminal = await opened(shell)
      const before = ran().length
      for (const name of NAMES) {
        writeFileSync(answers(), `${name}\tdescribed ${name}\n${name}x\t\n:4\n`)
        terminal.type(`recollect show ${TAB}${TAB}`)
        await terminal.settled()
        await terminal.run(`recollect show ${TAB}`)
      }
      writeFileSync(answers(), `${NAMES.map((name) => `${name}\t${name}\n`).join('')}:4\n`)
      terminal.type(`recollect show ${TAB}${TAB}${TAB}`)
      await terminal.settled()
      await terminal.close()
      expect(readdirSync(place)).toEqual([])
      // Nothing was filled in that is not a plain word.
      const filled = ran().slice(before)
      expect(filled.length).toBeGreaterThanOrEqual(NAMES.length)
      expect(filled.filter((line) => !/^<show>(<[\w.@:+/-]+>)*$/.test(line))).toEqual([])
    },
    600_000,
  )
})

describe('the scripts', () => {
  it('never have a shell read a value again', () => {
    for (const shell of ['bash', 'zsh', 'fish', 'powershell']) {
      const { code, stdout } = cli({}, 'completion', shell)
      expect([shell, code]).toEqual([shell, 0])
      expect(stdout).not.toMatch(/\beval\b|compgen|Invoke-Expression|\biex\b|compadd[^\n]* -Q|_describe/)
      expect(stdout).toContain('A-Za-z0-9_.@:+/-')
    }
    expect(cli({}, 'completion', 'tcsh')).toMatchObject({ code: 2 })
  })

  it('of PowerShell quote what is not the plainest word, and need no empty argument', () => {
    const { stdout } = cli({}, 'completion', 'powershell')
    expect(stdout).toContain('Register-ArgumentCompleter -Native')
    expect(stdout).toContain(`"'" + $text.Replace("'", "''") + "'"`)
    expect(cli(world.env, 'complete', '--next', '--', 'sessions', '--repo').stdout).toBe(
      cli(world.env, 'complete', '--', 'sessions', '--repo', '').stdout,
    )
  })
})
