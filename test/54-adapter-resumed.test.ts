// Resumes that go on in the same file: told where the file shows one, against what was really done with each agent.
// Never told of a session that was not resumed; not told where the file cannot show it.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Adapter } from '../src/adapters/adapter.ts'
import { claude } from '../src/adapters/claude/index.ts'
import { codex } from '../src/adapters/codex/index.ts'
import { grok } from '../src/adapters/grok/index.ts'
import { BrowserSession, describeInBrowser } from './setup/browser.ts'
import { collect } from './setup/collect.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { cli, World } from './setup/sweeping.ts'

interface Expected {
  invocations?: { mode: string; session_id: string | null; session_files_grown?: string[] }[]
}

/** The session a file or directory is of. */
const sessionIn = (path: string): string =>
  /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?=(?:\.jsonl)?$)/.exec(path)?.[0] ?? path

/** Sessions whose own file grew when somebody resumed them, by scenario. */
function resumedSessions(directory: string): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const scenario of readdirSync(directory)) {
    const path = join(directory, scenario, 'expected.json')
    const { invocations = [] } = JSON.parse(readFileSync(path, 'utf8')) as Expected
    const grown = invocations
      .filter(({ mode }) => mode === 'resume')
      .flatMap(({ session_files_grown = [] }) => session_files_grown)
      .filter((file) => !basename(file).startsWith('agent-'))
    found.set(scenario, [...new Set(grown.map(sessionIn))].sort())
  }
  return found
}

function toldSessions(adapter: Adapter, directory: string): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const scenario of readdirSync(directory)) {
    const { edges } = collect(adapter, join(directory, scenario))
    const told = edges.filter((edge) => edge.kind === 'resumed')
    for (const edge of told) expect(edge).toMatchObject({ parent: null, at: expect.any(Number) })
    found.set(scenario, told.map((edge) => edge.session).sort())
  }
  return found
}

const EVERY: [string, Adapter][] = [
  ['claude', claude],
  ['claude-tui', claude],
  ['codex', codex],
  ['codex-0.45', codex],
  ['codex-0.80', codex],
  ['codex-0.121', codex],
  ['codex-0.145', codex],
  ['codex-codemode', codex],
  ['grok', grok],
  ['grok-1.0.5', grok],
  ['grok-chat', grok],
  ['grok-messages', grok],
  ['grok-tui', grok],
]

describe('every resume, and nothing else, is told', () => {
  it.each(EVERY)('of %s', (client, adapter) => {
    const directory = unpackAgent(client)
    const truth = resumedSessions(directory)
    expect([...truth.values()].flat()).not.toEqual([])
    expect(toldSessions(adapter, directory)).toEqual(truth)
  })
})

describe('nothing is told where the file cannot show it', () => {
  it.each([
    ['claude-1.0', claude],
    ['claude-2.0', claude],
    ['claude-2.1.50', claude],
    ['claude-2.1.200', claude],
    ['codex-tui', codex],
  ])('of %s', (client, adapter) => {
    expect([...toldSessions(adapter, unpackAgent(client)).values()].flat()).toEqual([])
  })
})

it('stands in the lineage, with its time', async () => {
  const world = new World(join(unpackAgent('codex'), 'resume'))
  await world.sweep()
  const { nodes } = JSON.parse(cli(world.env, 'lineage', '@last', '--json').stdout)
  expect(nodes).toHaveLength(1)
  expect(nodes[0].edge).toBeNull()
  expect(nodes[0].other_edges).toEqual([
    expect.objectContaining({ kind: 'resumed', parent_uid: null, source: 'told' }),
  ])
  expect(cli(world.env, 'lineage', '@last').stdout).toContain('resumed 2026-11-15 18:43')
  world.remove()
})

describeInBrowser('the page', () => {
  it('shows it among the relatives of the session', async () => {
    const world = new World(join(unpackAgent('codex'), 'resume'))
    await world.sweep()
    const web = await BrowserSession.open(world.memory)
    try {
      await web.goto('/s/@last?tab=lineage')
      const facts = web.page.locator('.node-facts')
      await facts.waitFor()
      expect(await facts.textContent()).toMatch(/resumed \S/)
    } finally {
      await web.close()
      world.remove()
    }
  })
})
