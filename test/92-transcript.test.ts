// The story of a session: sub-agents below the call that started them.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lineageOf } from '../src/query/lineage.ts'
import { outlineOf } from '../src/query/outline.ts'
import { type Entry, transcript } from '../src/query/transcript.ts'
import type { Reader } from '../src/store/reader/index.ts'
import { loadPrices } from '../src/usage/prices.ts'
import { type Row, rowsOf, type Shown } from '../src/web/page/views/transcript-rows.ts'
import { assistant, call, type Fields, SESSION, text, user, write } from './setup/claude.ts'
import { agentRoots, TestMemory } from './setup/memory.ts'
import { World } from './setup/sweeping.ts'

const prices = await loadPrices({ prices: new Map(), aliases: new Map() })
const ALL: Shown = { housekeeping: true, thinking: true, tools: true, target: 0 }

/** What the page draws of a session, with every sub-agent open but these. */
function rowsIn(handle: Reader, uid: string, folded: readonly string[] = [], shown = ALL): Row[] {
  const nodes = lineageOf(handle, [uid], prices).nodes
  const subagents = nodes.filter((node) => node.edge?.kind === 'subagent')
  const uids = [uid, ...subagents.map((node) => node.session_uid)]
  const outlines = new Map(uids.map((one) => [one, outlineOf(handle, one)]))
  const opened = uids.filter((one) => !folded.includes(one))
  const inside = folded.filter((one) => !uids.includes(one))
  return rowsOf({ shown, outlines, subagents, toggled: new Set([...opened, ...inside]) }, uid)
}

const rowLine = ({ depth, agent, seq, answer }: Row): string =>
  agent ? `${depth} agent ${agent.sessionUid ?? agent.name}` : `${depth} #${seq} ${answer}`
const entryLine = (one: Entry): string =>
  one.type === 'agent'
    ? `${one.depth} agent ${one.name}`
    : `${one.depth} #${one.event.seq} ${one.result?.seq ?? 0}`

test('the page shows what the terminal shows, in the same order', async () => {
  const { roots } = agentRoots(['claude', 'claude-tui', 'codex', 'grok-1.0.5'])
  const memory = new TestMemory(roots)
  await memory.sweep()
  memory.read((handle) => {
    const all = handle.memory.prepare('SELECT session_uid AS uid FROM sessions').all() as { uid: string }[]
    let agents = 0
    for (const { uid } of all) {
      const told = [...transcript(handle, uid)].map(entryLine)
      expect(rowsIn(handle, uid).map(rowLine)).toEqual(told)
      agents += told.filter((line) => line.includes('agent')).length
    }
    expect(agents).toBeGreaterThan(5)
  })
  memory.remove()
})

test('a sub-agent stands below the call that started it, also where that is another sub-agent’s', async () => {
  const world = new World()
  const project = join(world.home, '.claude', 'projects', '-w')
  const agents = join(project, SESSION, 'subagents')
  const by = (agentId: string): Fields => ({ agentId, isSidechain: true })
  write(join(project, `${SESSION}.jsonl`), [
    user('u1', null, 'go'),
    assistant('u2', 'u1', [call('outer', 'Agent', { description: 'outer' })]),
    assistant('u3', 'u2', [text('end')]),
  ])
  write(join(agents, 'agent-a.jsonl'), [
    user('a1', null, 'task of a', by('a')),
    assistant('a2', 'a1', [call('inner', 'Agent', { description: 'inner' })], by('a')),
    assistant('a3', 'a2', [text('answer of a')], by('a')),
  ])
  write(join(agents, 'agent-b.jsonl'), [
    user('b1', null, 'task of b', by('b')),
    assistant('b2', 'b1', [text('answer of b')], by('b')),
  ])
  writeFileSync(join(agents, 'agent-a.meta.json'), '{"toolUseId":"outer"}')
  writeFileSync(join(agents, 'agent-b.meta.json'), '{"toolUseId":"inner","parentAgentId":"a"}')
  await world.sweep()
  const told = world.read((handle) =>
    [...transcript(handle, `claude:${SESSION}`)].map(
      (one) => `${one.depth} ${one.type === 'agent' ? `agent ${one.name}` : one.event.summary}`,
    ),
  )
  expect(told).toEqual([
    '0 go',
    '0 Agent: outer',
    '1 agent a',
    '1 task of a',
    '1 Agent: inner',
    '2 agent b',
    '2 task of b',
    '2 answer of b',
    '1 answer of a',
    '0 end',
    '0 ended with an answer',
  ])
  const UID = `claude:${SESSION}`
  const folded = world.read((handle) => rowsIn(handle, UID, [`${UID} a`]).map(rowLine))
  expect(folded).toEqual(['0 #1 0', '0 #2 0', '1 agent a', '0 #3 0', '0 #4 0'])
  const bare = world.read((handle) => rowsIn(handle, UID, [], { ...ALL, tools: false, housekeeping: false }))
  expect(bare.map(({ depth, kind, agent }) => `${depth} ${agent?.name ?? kind}`)).toEqual([
    '0 user_msg',
    '1 a',
    '1 user_msg',
    '2 b',
    '2 user_msg',
    '2 assistant_msg',
    '1 assistant_msg',
    '0 assistant_msg',
  ])
  world.remove()
})
