// The story of a session: sub-agents below the call that started them.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { transcript } from '../src/query/transcript.ts'
import { assistant, call, type Fields, SESSION, text, user, write } from './setup/claude.ts'
import { World } from './setup/sweeping.ts'

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
  world.remove()
})
