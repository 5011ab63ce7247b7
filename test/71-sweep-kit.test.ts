// Sessions of agents on the kit, swept while they grow, in any order: the memory is the one that a single sweep makes.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { agent as continues } from '../src/adapters/continue/agent.ts'
import { agent as letta } from '../src/adapters/letta/agent.ts'
import { agent as omp } from '../src/adapters/omp/agent.ts'
import { agent as pi } from '../src/adapters/pi/agent.ts'
import { filesBelow } from './setup/collect.ts'
import { differences } from './setup/dump.ts'
import { agentArchive, unpackAgent } from './setup/fixtures.ts'
import { randomFrom } from './setup/growing.ts'
import { IS_LONG } from './setup/long.ts'
import { World } from './setup/sweeping.ts'

const CLIENTS = [
  ['continue', continues],
  ['letta', letta],
  ['omp', omp],
  ['pi', pi],
  ['pi-0.87', pi],
] as const

const CHOSEN = ['fork', 'resume', 'subagent']

const worlds: World[] = []
afterEach(() => {
  for (const world of worlds.splice(0)) world.remove()
})

function newWorld(): World {
  const world = new World()
  worlds.push(world)
  return world
}

describe.each(CLIENTS.filter(([client]) => agentArchive(client)))('%s', (client, agent) => {
  it('swept in steps and in any order', async () => {
    const all = unpackAgent(client)
    const scenarios = readdirSync(all).filter((name) => IS_LONG || CHOSEN.includes(name))
    for (const scenario of scenarios) {
      const home = join(all, scenario)
      const files = filesBelow(home).filter((path) => !path.endsWith('expected.json'))
      const atOnce = newWorld()
      for (const path of files) put(atOnce, home, path, readFileSync(path))
      await atOnce.sweep()
      const grown = newWorld()
      const random = randomFrom(scenario.length)
      // Files that are written anew come whole or not at all; the others in pieces.
      const isLines = (path: string): boolean => path.endsWith('.jsonl') && agent.claim(path, true) !== null
      for (const part of [0.3, 0.7, 1])
        for (const path of [...files].sort(() => random() - 0.5)) {
          const bytes = readFileSync(path)
          if (isLines(path)) put(grown, home, path, bytes.subarray(0, Math.ceil(bytes.length * part)))
          else if (part === 1 || random() < 0.5) put(grown, home, path, bytes)
          if (random() < 0.4) await grown.sweep()
        }
      await grown.sweep()
      expect(differences(grown.dump(), atOnce.dump()), `${client}/${scenario}`).toEqual([])
    }
  })
})

function put(world: World, home: string, path: string, bytes: Uint8Array): void {
  const file = join(world.home, relative(home, path))
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, bytes)
}
