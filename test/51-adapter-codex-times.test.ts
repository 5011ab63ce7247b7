// Files of Codex up to 0.31 have one time, in their header, and up to 0.29 that is local time called UTC. The ids of
// answers tell the rest.
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { getSession } from '../src/query/sessions.ts'
import { eventsOf, itemsOf, jsonl, newHome, writeRollout } from './setup/rollout.ts'
import { World } from './setup/sweeping.ts'

const ID = '0c0f6a52-5f0e-4f4e-9d6e-3b4bb29d7a11'
const nameAt = (local: string) => `2025/08/25/rollout-${local.slice(0, 19).replaceAll(':', '-')}-${ID}.jsonl`
const idAt = (utc: string, kind = 'rs') =>
  `${kind}_${(Date.parse(utc) / 1000).toString(16).padStart(8, '0')}${'0123456789'.repeat(4)}`
const thought = (utc: string) => ({
  type: 'reasoning',
  id: idAt(utc),
  summary: [{ type: 'summary_text', text: utc }],
})
const asked = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'go' }] }
const header = (timestamp: string) => ({ id: ID, timestamp, instructions: null })

/** Start as told last, and the times of the thoughts. */
function timesOf(name: string, records: unknown[]) {
  const items = itemsOf(writeRollout(newHome(), name, jsonl(records)))
  const starts = items.flatMap((item) =>
    item.type === 'session' && item.onlyAt !== undefined ? [item.onlyAt] : [],
  )
  const thoughts = eventsOf(items).filter((event) => event.kind === 'thinking')
  const iso = (at: number | null | undefined) =>
    at === null || at === undefined ? at : new Date(at).toISOString()
  return { start: iso(starts.at(-1)), thoughts: thoughts.map((event) => iso(event.ts)) }
}

describe('a flat file', () => {
  test.each([
    ['west of Greenwich', '2025-08-25T10:00:00.250Z', '2025-08-25T14:03:05.000Z', '2025-08-25T14:00:00.250Z'],
    [
      'east of it, by a half hour more',
      '2025-08-25T20:00:00.250Z',
      '2025-08-25T14:31:00.000Z',
      '2025-08-25T14:30:00.250Z',
    ],
    ['at Greenwich', '2025-08-25T10:00:00.250Z', '2025-08-25T10:14:00.000Z', '2025-08-25T10:00:00.250Z'],
  ])('written %s began when its first answer says', (_, local, answered, began) => {
    const later = new Date(Date.parse(answered) + 60_000).toISOString()
    expect(timesOf(nameAt(local), [header(local), asked, thought(answered), thought(later)])).toEqual({
      start: began,
      thoughts: [answered, later],
    })
  })

  test('of a version that wrote UTC keeps its start', () => {
    const records = [header('2025-09-05T14:00:00.250Z'), thought('2025-09-05T15:30:00.000Z')]
    expect(timesOf(nameAt('2025-09-05T10:00:00'), records).start).toBe('2025-09-05T14:00:00.250Z')
  })

  test.each([
    ['there are no such ids', [{ ...thought('2025-08-25T14:00:00Z'), id: '' }]],
    ['they belong to no clock on earth', [thought('2025-08-27T14:00:00Z')]],
    ['nothing was answered', [asked]],
    ['ids are of another make', [{ ...thought('2025-08-25T14:00:00Z'), id: 'rs_68ac' }]],
  ])('keeps what its header says where %s', (_, records) => {
    const local = '2025-08-25T10:00:00.250Z'
    const { start, thoughts } = timesOf(nameAt(local), [header(local), ...records])
    expect(start).toBe(local)
    expect(thoughts.every((at) => at === null)).toBe(true)
  })

  test('an id that goes back in time dates nothing', () => {
    const local = '2025-08-25T10:00:00.250Z'
    const answers = ['2025-08-25T14:03:00.000Z', '2025-08-25T13:00:00.000Z', '2025-08-25T14:04:00.000Z']
    expect(timesOf(nameAt(local), [header(local), ...answers.map(thought)]).thoughts).toEqual([
      answers[0],
      null,
      answers[2],
    ])
  })
})

describe('a swept flat file', () => {
  const worlds: World[] = []
  afterEach(() => {
    for (const world of worlds.splice(0)) world.remove()
  })

  test.each([
    ['2025-08-25T10:00:00.250Z', 'west'],
    ['2025-08-25T23:00:00.250Z', 'east'],
  ])('has the times of its answers, read at once or line by line (%s, %s)', async (local) => {
    const records = [header(local), asked, thought('2025-08-25T14:03:05Z'), thought('2025-08-25T15:00:00Z')]
    const times: unknown[] = []
    for (const isStepwise of [false, true]) {
      const world = new World()
      worlds.push(world)
      const path = join(world.home, '.codex', 'sessions', nameAt(local))
      mkdirSync(dirname(path), { recursive: true })
      if (isStepwise)
        for (const record of records) {
          appendFileSync(path, jsonl([record]))
          await world.sweep()
        }
      else writeFileSync(path, jsonl(records))
      await world.sweep()
      await world.sweep({ full: true })
      const session = world.read((handle) => getSession(handle, `codex:${ID}`))
      times.push([session?.started_at, session?.ended_at])
    }
    const wanted = ['2025-08-25T14:00:00.250Z', '2025-08-25T15:00:00.000Z']
    expect(times).toEqual([wanted, wanted])
  })

  test('without such ids keeps its one time, as start and end', async () => {
    const world = new World()
    worlds.push(world)
    const local = '2025-08-25T10:00:00.250Z'
    const path = join(world.home, '.codex', 'sessions', nameAt(local))
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, jsonl([header(local), asked]))
    await world.sweep()
    const session = world.read((handle) => getSession(handle, `codex:${ID}`))
    expect(session).toMatchObject({ started_at: local, ended_at: local })
  })
})
