// Picking a session: what keys do, what the screen shows at any size, and the whole of it in a real terminal.
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Picker } from '../src/cli/picker.ts'
import { widthOf } from '../src/cli/text.ts'
import type { Line } from '../src/query/briefs.ts'
import { assistant, text, user, write } from './setup/claude.ts'
import { isHere } from './setup/programs.ts'
import { cli, cliPath, World } from './setup/sweeping.ts'

const NOW = Date.UTC(2026, 10, 18)
const lineOf = (at: number, fields: Partial<Line> = {}): Line => ({
  session_uid: `claude:${at}`,
  flavor: 'claude',
  repo: 'shop',
  domain: null,
  git_branch: 'main',
  model: 'm',
  title: `Session ${at}`,
  first_prompt: '',
  relation: 'main',
  helper: null,
  outcome: 'success',
  outcome_reason: null,
  outcome_confidence: null,
  started_at: NOW - at * 60_000,
  ended_at: NOW - at * 60_000,
  evicted_at: null,
  is_sole_copy: 0,
  turns: 1,
  event_count: 1,
  error_count: 0,
  active_s: 0,
  tool_calls: 0,
  edits: 0,
  commits: 0,
  is_pinned: false,
  starred_at: null,
  tags: '',
  total_tokens: 0,
  cost_usd: null,
  unpriced_responses: 0,
  seen_at: 0,
  ...fields,
})
const SIZE = { columns: 80, rows: 24 }
const press = (picker: Picker, ...names: string[]): unknown =>
  names.map((name) => picker.press({ name, sequence: '' }, SIZE)).at(-1)
const type = (picker: Picker, word: string): void => {
  for (const sequence of word) picker.press({ name: sequence, sequence }, SIZE)
}

describe('the list', () => {
  const lines = Array.from({ length: 50 }, (_, at) => lineOf(at))

  it('has those of this place first, newest first, and goes by keys', () => {
    const picker = new Picker(lines, new Set(['claude:7', 'claude:30']))
    expect(picker.marked?.session_uid).toBe('claude:7')
    press(picker, 'down')
    expect(picker.marked?.session_uid).toBe('claude:30')
    press(picker, 'down')
    expect(picker.marked?.session_uid).toBe('claude:0')
    press(picker, 'pagedown', 'pagedown', 'pagedown', 'pagedown', 'pagedown', 'down')
    expect(picker.marked?.session_uid).toBe('claude:49')
    press(picker, 'pageup', 'up')
    expect(picker.marked?.session_uid).not.toBe('claude:49')
    expect(press(picker, 'return')).toBe('resume')
    expect(press(picker, 'tab')).toBe('show')
    expect(picker.press({ name: 'y', ctrl: true }, SIZE)).toBe('copy')
    expect(picker.press({ name: 'o', ctrl: true }, SIZE)).toBe('page')
    expect(picker.press({ name: 'c', ctrl: true }, SIZE)).toBe('leave')
    expect(press(picker, 'escape')).toBe('leave')
  })

  it('is narrowed by what is typed, and nothing can be chosen of nothing', () => {
    const picker = new Picker([...lines, lineOf(99, { title: 'Ünïcode 修复', tags: 'flaky' })], new Set())
    type(picker, '修复')
    expect(picker.marked?.session_uid).toBe('claude:99')
    type(picker, ' flaky')
    expect(picker.marked?.session_uid).toBe('claude:99')
    type(picker, 'x')
    expect(picker.marked).toBeUndefined()
    expect(press(picker, 'return')).toBeUndefined()
    expect(picker.render(SIZE, NOW, undefined).rows[1]).toContain('no session')
    press(picker, 'backspace')
    expect(picker.marked?.session_uid).toBe('claude:99')
    picker.press({ name: 'u', ctrl: true }, SIZE)
    expect(picker.marked?.session_uid).toBe('claude:0')
  })

  it('keeps the mark when the rest of the sessions comes', () => {
    const picker = new Picker(lines.slice(0, 5), new Set(), false)
    press(picker, 'down', 'down')
    picker.setLines([lineOf(-3), ...lines])
    expect(picker.marked?.session_uid).toBe('claude:2')
  })

  it('fits every screen, whatever titles hold', () => {
    const odd = [
      lineOf(0, { title: `${'修复'.repeat(90)}\u001b[2J\u202e`, starred_at: 1 }),
      lineOf(1, { title: null, first_prompt: 'a\nb'.repeat(50), repo: 'x'.repeat(90) }),
      lineOf(2, { title: '👩‍👩‍👧‍👧'.repeat(40) }),
    ]
    const preview = { asked: 'q '.repeat(400), answered: 'w'.repeat(900) }
    for (const columns of [20, 40, 80, 200])
      for (const rows of [3, 8, 16, 24, 60]) {
        const picker = new Picker([...odd, ...lines], new Set(['claude:1']))
        type(picker, 'e')
        press(picker, 'down')
        const screen = picker.render({ columns, rows }, NOW, preview)
        expect(screen.rows.length, `${columns}x${rows}`).toBe(rows)
        for (const row of screen.rows) expect([row, widthOf(row) <= columns]).toEqual([row, true])
        expect(screen.cursor).toBeLessThan(columns)
      }
  })
})

const HERE = 'aaaaaaaa-4444-4444-8444-444444444444'
const ELSEWHERE = 'bbbbbbbb-4444-4444-8444-444444444444'

describe.skipIf(!isHere('tmux'))('in a terminal (tmux)', () => {
  const world = new World()
  const project = join(world.base, 'shop')
  const programs = join(world.base, 'bin')
  const socket = join(world.base, 'tmux')
  const tmux = (...args: string[]): string =>
    execFileSync('tmux', ['-S', socket, '-f', '/dev/null', ...args], { encoding: 'utf8', env: shellEnv })
  const shellEnv = {
    ...world.env,
    PATH: `${programs}:${process.env['PATH']}`,
    LANG: 'C.UTF-8',
    TERM: 'xterm',
    NO_COLOR: '1',
  }
  const screen = (): string => tmux('capture-pane', '-p')
  const until = async (what: (screen: string) => boolean): Promise<string> => {
    for (let tries = 0; tries < 300; tries++) {
      const now = screen()
      if (what(now)) return now
      await new Promise((done) => setTimeout(done, 100))
    }
    throw new Error(`did not come up:\n${screen()}`)
  }
  const start = (command: string): void => {
    tmux('respawn-pane', '-k', '-c', project, `${command}; echo "ended $?"; exec sleep 600`)
  }

  beforeAll(async () => {
    for (const directory of [join(project, '.git'), programs]) mkdirSync(directory, { recursive: true })
    writeFileSync(
      join(programs, 'claude'),
      `#!/bin/sh\necho "$PWD $*" > ${join(world.base, 'called')}\nexit 7\n`,
    )
    chmodSync(join(programs, 'claude'), 0o755)
    const make = (id: string, cwd: string, prompt: string): string =>
      write(join(world.home, '.claude', 'projects', '-p', `${id}.jsonl`), [
        user(`u${id}`, null, prompt, { sessionId: id, cwd }),
        assistant(`a${id}`, `u${id}`, [text('Done with it.')], { sessionId: id, cwd }),
      ])
    make(HERE, project, 'Mend the cart of the shop')
    make(ELSEWHERE, '/w/other', 'Paint the bikeshed blue')
    await world.sweep()
    tmux('new-session', '-d', '-x', '80', '-y', '24', '-c', project, 'sleep 600')
  })
  afterAll(() => {
    spawnSync('tmux', ['-S', socket, 'kill-server'])
    world.remove()
  })
  const program = `${process.execPath} ${cliPath}`

  it('shows those of this place first in 80 x 24, without colour, and resumes by Enter', async () => {
    start(program)
    const first = await until((now) => now.includes('Enter resume'))
    const rows = first.split('\n')
    expect(rows[1]).toMatch(/^> .*claude +Mend the cart of the shop/)
    expect(rows[2]).toMatch(/Paint the bikeshed blue .*other$/)
    expect(first).toContain('ended: Done with it.')
    tmux('send-keys', 'Enter')
    await until((now) => now.includes('ended 7'))
    expect(readFileSync(join(world.base, 'called'), 'utf8')).toBe(`${project} --resume ${HERE}\n`)
  })

  it('narrows, shows, copies and leaves; the screen is as before', async () => {
    start(`echo before; ${program} resume`)
    await until((now) => now.includes('Enter resume'))
    tmux('send-keys', 'bike')
    await until((now) => now.startsWith('> bike') && !now.includes('Mend the cart'))
    tmux('send-keys', 'Tab')
    const shown = await until((now) => now.includes('ended 0'))
    expect(shown).toMatch(/^before\n/)
    expect(shown).toContain('Paint the bikeshed blue')
    start(`${program} resume`)
    await until((now) => now.includes('Enter resume'))
    tmux('send-keys', 'C-y')
    expect(await until((now) => now.includes('ended 0'))).toContain(`copied: claude:${HERE}`)
    start(`${program} resume`)
    await until((now) => now.includes('Enter resume'))
    tmux('send-keys', 'C-c')
    await until((now) => now.includes('ended 130'))
    start(`cd / && ${program} resume`)
    await until((now) => now.includes('Enter resume'))
    tmux('send-keys', 'Escape')
    await until((now) => now.includes('ended 0'))
  })

  it('is the status where no session is of this place, and in a pipe', async () => {
    start(`cd / && ${program}`)
    expect(await until((now) => now.includes('ended 0'))).toContain('remembered')
    expect(cli(world.env).stdout).toContain('remembered')
  })
})
