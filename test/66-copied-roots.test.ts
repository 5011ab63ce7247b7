// Sessions that somebody copied to a directory of their own choosing, named in the settings: they are read as they would
// be in the agent's own home. And what is said where nothing is found there.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ADAPTERS } from '../src/adapters/index.ts'
import { INTEGRATIONS } from '../src/adapters/integrations.ts'
import { Config } from '../src/config.ts'
import { agentsHere, checkAgents } from '../src/doctor/agents.ts'
import { getSession } from '../src/query/sessions.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { copyTree, scenariosIn, World } from './setup/sweeping.ts'

const FOLDERS = { claude: '.claude/projects', codex: '.codex/sessions', grok: '.grok/sessions' }
type Flavor = keyof typeof FOLDERS

/** All that was read from these folders, without where it lies and how much that is. */
async function readFrom(scenario: string, flavor: Flavor, ...folders: string[]): Promise<object> {
  const world = new World()
  for (const folder of folders) copyTree(join(scenario, FOLDERS[flavor]), join(world.home, folder))
  world.configure(`[sources.${flavor}]\nroots = ["~/kept"]\n`)
  await world.sweep()
  const { sessions, usage, edges, events } = world.dump()
  world.remove()
  expect(sessions.length).toBeGreaterThan(0)
  const told = sessions.map(({ source_path: _, source_bytes: __, ...row }) => row)
  return { sessions: told, usage, edges, events }
}

describe('a copy', () => {
  it.each<[string, Flavor]>([
    ['claude', 'claude'],
    ['claude-1.0', 'claude'],
    ['codex', 'codex'],
    ['grok', 'grok'],
    ['grok-chat', 'grok'],
  ])('of what %s left is read as the original, and beside it changes nothing', async (client, flavor) => {
    const directory = unpackAgent(client)
    const telling = scenariosIn(directory).filter((name) =>
      /^(?:fork|rev|subagent|compact|resume)/.test(name),
    )
    const scenarios = telling.length > 0 ? telling : scenariosIn(directory).slice(0, 3)
    for (const name of scenarios) {
      const scenario = join(directory, name)
      const original = await readFrom(scenario, flavor, FOLDERS[flavor])
      expect(await readFrom(scenario, flavor, 'kept/of-2025'), name).toEqual(original)
      expect(await readFrom(scenario, flavor, FOLDERS[flavor], 'kept/of-2025'), name).toEqual(original)
    }
  })
})

describe('a transcript', () => {
  const ID = '11111111-1111-4111-8111-111111111111'
  const line = `${JSON.stringify({ type: 'user', uuid: '00000000-0000-4000-8000-000000000001', parentUuid: null, sessionId: ID, cwd: '/w', version: '2.1.300', timestamp: '2026-11-01T10:00:00Z', message: { role: 'user', content: 'hello' } })}\n`
  let world: World
  beforeEach(() => {
    world = new World()
  })
  afterEach(() => world.remove())
  const put = (path: string, text = line): void => {
    mkdirSync(join(world.home, path, '..'), { recursive: true })
    writeFileSync(join(world.home, path), text)
  }
  const empty = (): string[] => {
    const context = {
      config: new Config({ env: world.env }),
      env: world.env,
      now: Date.now(),
      adapters: ADAPTERS,
      integrations: INTEGRATIONS,
      handle: undefined,
    }
    return checkAgents(context, agentsHere(context))
      .filter((one) => one.id === 'source.empty')
      .map((one) => one.text.replaceAll(world.home, ''))
  }

  it('alone in a directory is found, and what only lies beside it is left alone', async () => {
    put(`kept/${ID}.jsonl`)
    put('kept/history.jsonl')
    put('kept/notes.jsonl')
    world.configure('[sources.claude]\nroots = ["~/kept"]\n')
    const report = await world.sweep()
    expect([report.counts.new, report.problems]).toEqual([1, []])
    expect(empty()).toEqual([])
  })

  it('that is not where the settings say is missed aloud', () => {
    put('kept/notes.jsonl')
    put(`elsewhere/${ID}.jsonl`)
    world.configure('[sources.claude]\nroots = ["~/kept", "~/misspelt", "~/elsewhere"]\n')
    expect(empty()).toEqual(['/kept holds no session that claude would read', '/misspelt is not there'])
  })

  it('of a sub-agent tells where its session was, where nothing else does', async () => {
    const side = line.replace('"type":"user"', '"type":"user","isSidechain":true,"agentId":"a1"')
    const agent = `.claude/projects/-w/${ID}/subagents/agent-a1.jsonl`
    put(agent, side.replace('"/w"', '"/w/tree"'))
    await world.sweep()
    const session = () => world.read((handle) => getSession(handle, `claude:${ID}`))
    expect(session()).toMatchObject({ cwd: '/w/tree', repo: 'tree' })
    put(`.claude/projects/-w/${ID}.jsonl`, line.replaceAll('000001', '000002'))
    await world.sweep()
    expect(session()).toMatchObject({ cwd: '/w', repo: 'w' })
    put(agent, `${side.replace('"/w"', '"/w/tree"')}${side.replaceAll('000001', '000003')}`)
    await world.sweep({ full: true })
    expect(session()).toMatchObject({ cwd: '/w', repo: 'w' })
  })
})
