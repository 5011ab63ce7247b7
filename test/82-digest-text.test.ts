// A digest as people read it, and what a session cost with its sub-agents.
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { digestText } from '../src/cli/digest-text.ts'
import { getDigest } from '../src/digest/patterns.ts'
import { isRunning } from '../src/model.ts'
import { listSessions } from '../src/query/sessions.ts'
import { TimeZone } from '../src/query/timezone.ts'
import { treeCost, treeOf } from '../src/query/tree-cost.ts'
import { usageReport } from '../src/query/usage.ts'
import { unitsOf } from '../src/usage/money.ts'
import { readOverrides } from '../src/usage/overrides.ts'
import { loadPrices } from '../src/usage/prices.ts'
import { assistant, call, type Fields, result, SESSION, text, user, write } from './setup/claude.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { World } from './setup/sweeping.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.remove())

const uuid = (n: number): string => `${String(n).padStart(8, '0')}-0000-4000-8000-000000000000`

it('says the verdict first, and names failures by what they say', async () => {
  const records: Fields[] = [user(uuid(1), null, 'Mend the gate of the yard.')]
  const next = (): [string, string] => [uuid(records.length + 1), uuid(records.length)]
  const ran = (command: string, said: string, isError = false): void => {
    const id = `t${records.length}`
    records.push(assistant(...next(), [call(id, 'Bash', { command })]))
    records.push(user(...next(), [result(id, said, isError)]))
  }
  for (let at = 0; at < 3; at++) ran('make gate', 'Exit code 2\nerror: no hinge', true)
  ran('ls', 'hinge.txt')
  records.push(assistant(...next(), [text("I couldn't mend it.")]))
  write(join(world.home, '.claude/projects/-w', `${SESSION}.jsonl`), records)
  await world.sweep()
  const digest = world.read((handle) => getDigest(handle, `claude:${SESSION}`))
  const tree = { sessions: 3, total_tokens: 1, cost_usd: '10.36', unpriced_responses: 0 }
  const lines = digestText(digest, { isRunning: false, tree }).split('\n')
  expect(lines[0]).toContain('Mend the gate of the yard.')
  expect(lines[1]).toMatch(/^failed: the answer says that it could not be done \(likely, 80 %\) #\d+$/)
  expect(lines[2]).toMatch(/^error {5}error: no hinge, 3 times #\d/)
  expect(lines.find((line) => line.startsWith('cost'))).toContain('($10.36 with 2 sub-agents)')
  for (const { fingerprint } of digest.error_snippets) expect(lines.join('\n')).not.toContain(fingerprint)
  expect(digestText(digest, { isRunning: true, tree: null })).toMatch(/\nrunning: /)
})

it('is running while it was heard of just now and has not ended', () => {
  const at = Date.UTC(2026, 0, 1)
  const ended_at = new Date(at).toISOString()
  expect(isRunning({ outcome: 'abandoned', ended_at }, at + 60_000)).toBe(true)
  expect(isRunning({ outcome: 'abandoned', ended_at }, at + 3_600_000)).toBe(false)
  expect(isRunning({ outcome: 'success', ended_at }, at + 60_000)).toBe(false)
  expect(isRunning({ outcome: 'unknown', ended_at: null }, at)).toBe(false)
})

it('sums a session and its sub-agents, once each', async () => {
  world.remove()
  world = new World(join(unpackAgent('codex'), 'subagent'))
  await world.sweep()
  const prices = await loadPrices(readOverrides({}, {}))
  world.read((handle) => {
    const [main] = listSessions(handle)
    const uid = main?.session_uid as string
    const tree = treeOf(handle, uid)
    expect(tree.length).toBeGreaterThan(1)
    const { rows } = usageReport(handle, { group: 'session', zone: new TimeZone('UTC'), prices })
    const sum = rows.reduce((all, row) => all + (row.cost_usd === null ? 0n : unitsOf(row.cost_usd)), 0n)
    expect(treeCost(handle, prices, uid)).toMatchObject({ sessions: tree.length })
    expect(unitsOf(treeCost(handle, prices, uid)?.cost_usd ?? '0')).toBe(sum)
    expect(rows.find((row) => row.key === uid)?.tree_cost_usd).toBe(treeCost(handle, prices, uid)?.cost_usd)
    expect(rows.filter((row) => row.key !== uid).every((row) => row.tree_cost_usd === null)).toBe(true)
  })
})
