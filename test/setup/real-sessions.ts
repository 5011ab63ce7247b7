// Every scenario of a real client, read by its adapter.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import type { Adapter, EventItem, LazyAdapter } from '../../src/adapters/adapter.ts'
import { withReader } from '../../src/sweep/tasks.ts'
import { type Collected, collect } from './collect.ts'
import { unpackAgent } from './fixtures.ts'

export interface RealSessions {
  adapter: Adapter
  of(scenario: string): Collected
  events(scenario: string): EventItem[]
}

/** For a `describe`: what is read, from its first test on; and that nobody left a record in it undescribed. */
export function realSessions(agent: LazyAdapter, client = agent.flavor): RealSessions {
  let all: Record<string, Collected> = {}
  const of = (scenario: string): Collected => all[scenario] as Collected
  const sessions = {
    of,
    events: (scenario: string) => [...of(scenario).sessions.values()].flatMap((one) => one.events),
  } as RealSessions
  beforeAll(async () => {
    sessions.adapter = await withReader(agent)
    const home = unpackAgent(client)
    all = Object.fromEntries(
      readdirSync(home).map((name) => [name, collect(sessions.adapter, join(home, name))]),
    )
  })
  it('has no record that nobody described', () => {
    expect(Object.values(all).flatMap((one) => [...one.unknown.keys()])).toEqual([])
    expect(Object.values(all).flatMap((one) => one.gaps)).toEqual([])
  })
  return sessions
}
