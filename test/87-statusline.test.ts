// The status line, windows of five hours, and the guard of a budget.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { usageBlocks } from '../src/query/blocks.ts'
import { pricesFor } from '../src/query/prices.ts'
import { budgetState } from '../src/query/spending.ts'
import { openNotes } from '../src/store/notes.ts'
import { readOverrides } from '../src/usage/overrides.ts'
import { assistant, text, user, write } from './setup/claude.ts'
import { cli, cliPath, World } from './setup/sweeping.ts'

const world = new World()
const ID = 'aaaaaaaa-3333-4333-8333-333333333333'
const UID = `claude:${ID}`
const HOUR = 3_600_000
/** Half past an hour, today. */
const NOW = Math.floor(Date.now() / HOUR) * HOUR
const at = (ms: number): { timestamp: string } => ({ timestamp: new Date(ms).toISOString() })

/** One response of a million tokens of input, at a time. */
const spent = (uuid: string, parent: string, time: number) => {
  const record = assistant(uuid, parent, [text('done')], { sessionId: ID, cwd: '/w', ...at(time) })
  return {
    ...record,
    message: {
      ...(record['message'] as object),
      id: `msg_${uuid}`,
      model: 'claude-opus-4-7',
      usage: { input_tokens: 1_000_000, output_tokens: 0 },
    },
  }
}

const START = NOW - 30 * HOUR
beforeAll(async () => {
  const prompt = (uuid: string, parent: string | null, time: number) =>
    user(uuid, parent, 'Go on', { sessionId: ID, cwd: '/w', ...at(time) })
  write(join(world.home, '.claude', 'projects', '-w', `${ID}.jsonl`), [
    prompt('u1', null, START),
    spent('a1', 'u1', START + 20 * 60_000),
    spent('a2', 'a1', START + 4 * HOUR + 50 * 60_000),
    spent('a3', 'a2', START + 6 * HOUR),
    prompt('u2', 'a3', NOW - 1000),
    spent('a4', 'u2', NOW),
  ])
  await world.sweep()
})
afterAll(() => world.remove())

const line = (said: unknown, ...args: string[]) =>
  spawnSync(process.execPath, [cliPath, 'statusline', ...args], {
    input: typeof said === 'string' ? said : JSON.stringify(said),
    env: { PATH: process.env['PATH'] ?? '', LANG: 'C.UTF-8', ...world.env },
    encoding: 'utf8',
  })
const SAID = {
  session_id: ID,
  model: { display_name: 'Opus \u001b[31m4.7' },
  cost: { total_cost_usd: 0.4 },
  rate_limits: {
    five_hour: { used_percentage: 23.46, resets_at: NOW / 1000 + 7200 },
    seven_day: { used_percentage: 41, resets_at: NOW / 1000 + 90_000 },
    broken: null,
  },
}

describe('the status line', () => {
  it('tells what the session and the day cost and how allowances stand, and keeps these', () => {
    const { stdout, stderr, status } = line(SAID)
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^Opus 4\.7 · \$20\.00 session · \$\d+\.00 today · 5h 23\.5% · 7d 41%\n$/)
    const { limits } = JSON.parse(cli(world.env, 'usage', 'limits', '--json').stdout)
    expect(limits).toMatchObject([
      { flavor: 'claude', limit: 'five_hour', used_percent: 23.5, window_minutes: 300, session_uid: UID },
      { limit: 'seven_day', used_percent: 41, window_minutes: 10_080 },
    ])
    // What stays as it is is not written again.
    const before = readFileSync(join(world.memory, 'memory.db'))
    line(SAID)
    expect(readFileSync(join(world.memory, 'memory.db')).equals(before)).toBe(true)
    const plain = cli(world.env, 'statusline').stdout
    expect(plain).toContain('claude five_hour 23.5%')
    expect(plain).not.toContain('session')
  })

  it('keeps nothing that no later question could show', () => {
    const limits = (one: object) => ({ ...SAID, rate_limits: { odd: one } })
    for (const odd of [
      { used_percentage: 1e308, resets_at: 1 },
      { used_percentage: 5, resets_at: 1e300 },
      { used_percentage: 5, resets_at: -1e15 },
    ])
      expect(line(limits(odd))).toMatchObject({ status: 0, stderr: '' })
    const told = cli(world.env, 'usage', 'limits', '--json')
    expect([told.code, told.stderr]).toEqual([0, ''])
    expect(
      JSON.parse(told.stdout).limits.find((one: { limit: string }) => one.limit === 'odd'),
    ).toMatchObject({
      used_percent: 5,
      resets_at: null,
    })
  })

  it('is a document, too; of an unknown session it has what the agent says', () => {
    expect(JSON.parse(line(SAID, '--json').stdout)).toMatchObject({
      session_uid: UID,
      session_usd: '20.00',
      reported_usd: '0.4000',
      limits: [{ name: '5h', used_percent: 23.5 }, { name: '7d' }],
      budget: null,
    })
    expect(line({ ...SAID, session_id: 'nobody' }).stdout).toContain('$0.40 session')
    const empty = new World()
    mkdirSync(empty.memory, { recursive: true })
    const { stdout } = spawnSync(process.execPath, [cliPath, 'statusline'], {
      input: JSON.stringify(SAID),
      env: { PATH: process.env['PATH'] ?? '', LANG: 'C.UTF-8', ...empty.env },
      encoding: 'utf8',
    })
    expect(stdout).toBe('Opus 4.7 · $0.40 session · 5h 23.5% · 7d 41%\n')
    empty.remove()
  })

  it('refuses what no agent says', () => {
    for (const said of ['nonsense', '[1]', '7']) {
      const { status, stdout, stderr } = line(said)
      expect([said, status, stdout]).toEqual([said, 2, ''])
      expect(stderr).toContain('try: ')
    }
  })
})

describe('windows of five hours', () => {
  it('begin with the hour of their first response, or as an agent was told', async () => {
    const notes = openNotes(world.paths)
    const end = START + 10 * HOUR + 7 * 60_000
    notes.keepLimits([
      {
        sessionUid: UID,
        name: 'five_hour',
        at: START + 6 * HOUR,
        usedPercent: 12,
        left: null,
        windowMinutes: 300,
        resetsAt: end,
        plan: null,
      },
    ])
    notes.close()
    const prices = await world.read((handle) => pricesFor(handle, readOverrides({}, {})))
    const blocks = world.read((handle) =>
      usageBlocks(handle, { prices, sinceAt: START - HOUR, untilAt: NOW - HOUR }),
    )
    expect(blocks.map((one) => [one.started_at, one.ends_at, one.is_inferred, one.responses])).toEqual([
      [new Date(end - 5 * HOUR).toISOString(), new Date(end).toISOString(), false, 1],
      [new Date(START).toISOString(), new Date(START + 5 * HOUR).toISOString(), true, 2],
    ])
    expect(blocks[0]).toMatchObject({ used_percent: 12, cost_usd: '5.00', is_running: false })
  })

  it('are listed, with what is inferred marked', () => {
    const { stdout } = cli(world.env, 'usage', 'blocks')
    expect(stdout).toContain('inferred')
    expect(stdout).toContain('told')
    expect(JSON.parse(cli(world.env, 'usage', 'blocks', '--json').stdout).blocks).toHaveLength(3)
    expect(cli(world.env, 'usage', 'blocks', '--repo', 'w').code).toBe(2)
    expect(cli(world.env, 'usage', 'blocks', '--since', 'never').code).toBe(2)
  })
})

describe('a budget', () => {
  const HANDLER = join(cliPath, '..', 'recollect-hook.cjs')
  const fire = (event: string): string =>
    spawnSync(process.execPath, [HANDLER], {
      input: JSON.stringify({ hook_event_name: event, session_id: ID, prompt: 'go' }),
      env: { PATH: process.env['PATH'] ?? '', ...world.env },
      encoding: 'utf8',
    }).stdout

  it('is spent, nearly spent, or neither', () => {
    const state = (session_usd: string | null, session: number) =>
      budgetState({ session_usd, today_usd: '1.00' }, { daily: 0, session })
    expect(state('7.99', 10)).toBeUndefined()
    expect(state('8.00', 10)).toMatchObject({ of: 'session', is_over: false })
    expect(state('10.00', 10)).toMatchObject({ of: 'session', is_over: true, limit_usd: '10.00' })
    expect(state(null, 10)).toBeUndefined()
    expect(state('10.00', 0)).toBeUndefined()
    expect(budgetState({ session_usd: null, today_usd: '1.00' }, { daily: 0.5, session: 0 })?.of).toBe(
      'daily',
    )
  })

  it('is told of by the hook, or stops the agent; whatever is wrong, it goes on', () => {
    expect(fire('UserPromptSubmit')).toBe('')
    world.configure('[budget]\nsession = 12.5\n')
    expect(JSON.parse(fire('UserPromptSubmit'))).toEqual({
      systemMessage: expect.stringContaining('cost $20.00, over the $12.50 of budget.session'),
    })
    expect(fire('PreToolUse')).toBe('')
    expect(line(SAID).stdout).toContain('over $12.50 session')
    world.configure('[budget]\nsession = 12.5\naction = "stop"\n')
    for (const event of ['UserPromptSubmit', 'PreToolUse'])
      expect(JSON.parse(fire(event))).toMatchObject({
        continue: false,
        stopReason: expect.stringContaining('budget.action = "warn"'),
      })
    world.configure('[budget]\nsession = 100\naction = "stop"\n')
    expect(fire('PreToolUse')).toBe('')
    world.configure('[budget]\nsession = "much"\n')
    expect(fire('UserPromptSubmit')).toBe('')
    expect(cli(world.env, 'config').code).toBe(2)
    world.configure('')
  })

  it('is installed with the hooks where it is set, and taken out with them', () => {
    const settings = join(world.home, '.claude', 'settings.json')
    const events = (): string[] => Object.keys(JSON.parse(readFileSync(settings, 'utf8')).hooks)
    world.configure('[budget]\ndaily = 10\naction = "stop"\n[recall]\nhook = "on"\n')
    expect(cli(world.env, 'hooks', 'install', '--agent', 'claude').code).toBe(0)
    expect(events()).toEqual(
      expect.arrayContaining(['PreToolUse', 'UserPromptSubmit', 'PostToolUseFailure', 'Stop']),
    )
    expect(cli(world.env, 'hooks', 'status', '--agent', 'claude').stdout).toContain('8/8 installed')
    world.configure('')
    expect(cli(world.env, 'hooks', 'install', '--agent', 'claude').code).toBe(0)
    expect(events()).not.toContain('PreToolUse')
    world.configure('[recall]\nhook = "on"\n')
    cli(world.env, 'hooks', 'install', '--agent', 'claude')
    expect(cli(world.env, 'hooks', 'uninstall', '--agent', 'claude').stdout).toContain('removed')
  })
})
