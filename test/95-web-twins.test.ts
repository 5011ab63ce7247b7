// Every question the command line answers with --json, asked of the page's server too: what the command prints has to be in
// the answer, field by field and value by value. An answer may hold more.
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { DoctorDocument } from '../src/doctor/index.ts'
import type { BriefPage } from '../src/query/narrow.ts'
import type { EventWindow, EventWithBody } from '../src/web/server/events.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { cli, World } from './setup/sweeping.ts'
import { serve, type WebClient } from './setup/web.ts'

const SCENARIOS = {
  claude: ['tools', 'subagent', 'big_unicode_secret', 'mid_error'],
  codex: ['tools'],
  grok: ['subagent'],
}
let world: World
let web: WebClient

beforeAll(async () => {
  world = new World()
  for (const [client, names] of Object.entries(SCENARIOS)) {
    const directory = unpackAgent(client)
    for (const name of names) cpSync(join(directory, name), world.home, { recursive: true })
  }
  await world.sweep()
  // After it, so that the plan has steps and nothing is gone yet.
  world.configure('[session_memory.retention]\nraw_soft_cap_bytes = "1KiB"\nraw_hard_cap_bytes = "1GiB"\n')
  web = await (await serve(world.memory, { env: world.env })).signIn()
})

afterAll(async () => {
  await web.server.close()
  world.remove()
})

const printed = <T = Record<string, unknown>>(...args: string[]): T =>
  JSON.parse(cli(world.env, ...args, '--json').stdout) as T

/** The command's words, and the question that is its twin. */
const TWINS: [command: string[], path: string][] = [
  [['sessions'], 'sessions?limit=500'],
  [['sessions', '--all'], 'sessions?limit=500&all=1'],
  [['sessions', '--sort', 'errors', '--limit', '2'], 'sessions?sort=errors&limit=2'],
  [['sessions', '--sort', 'cost', '--limit', '1'], 'sessions?sort=cost&limit=1'],
  [['sessions', '--sort', 'duration', '--limit', '1'], 'sessions?sort=duration&limit=1'],
  [['sessions', '--sort', 'tokens', '--limit', '1'], 'sessions?sort=tokens&limit=1'],
  [['sessions', '--flavor', 'codex'], 'sessions?flavor=codex'],
  [['sessions', '--has-error'], 'sessions?has_error=yes'],
  [['sessions', '--touched', 'calc.js'], 'sessions?touched=calc.js'],
  [['sessions', '--tool', 'Bash'], 'sessions?tool=Bash'],
  [
    ['sessions', '--since', '2026-11-01', '--until', '2026-11-30'],
    'sessions?since=2026-11-01&until=2026-11-30',
  ],
  [['search', 'calc'], 'search?q=calc'],
  [
    ['search', '"should be 5"', '--limit', '3', '--kind', 'tool_result,error'],
    'search?q="should be 5"&limit=3&kind=tool_result,error',
  ],
  [['search', 'calc', '--flavor', 'codex', '--has-error'], 'search?q=calc&flavor=codex&has_error=yes'],
  [['usage', 'day'], 'usage'],
  [
    ['usage', 'model', '--since', '2026-11-01', '--until', '2026-11-15', '--timezone', 'Asia/Tokyo'],
    'usage?group=model&since=2026-11-01&until=2026-11-15&timezone=Asia/Tokyo',
  ],
  [['usage', 'session', '--flavor', 'claude'], 'usage?group=session&flavor=claude'],
  [['patterns'], 'patterns'],
  [['patterns', '--limit', '1'], 'patterns?limit=1'],
  [['lineage'], 'lineage'],
  [['lineage', '--limit', '2', '--flavor', 'codex'], 'lineage?limit=2&flavor=codex'],
  [['status'], 'status'],
]

it.each(TWINS)('recollect %s', async (command, path) => {
  const document = printed(...command)
  const answer = await web.json(`/api/${encodeURI(path)}`)
  // An empty answer would be like any other.
  expect(JSON.stringify(document).length, 'the example says something').toBeGreaterThan(100)
  expect(answer).toMatchObject(document)
})

it('every session: show, digest and lineage', async () => {
  const { sessions } = await web.json<BriefPage>('/api/sessions?all=1&limit=500')
  expect(sessions.length).toBeGreaterThan(6)
  const picked = Object.keys(SCENARIOS).map(
    (flavor) => sessions.filter((one) => one.flavor === flavor).at(-1)?.session_uid as string,
  )
  for (const uid of picked) {
    const path = `/api/sessions/${encodeURIComponent(uid)}`
    const shown = printed<{ events: EventWithBody[]; unread_bodies: number }>('show', uid, '--payload')
    // The page asks for bodies by windows, and each window counts its own.
    const { events, unread_bodies, ...head } = shown
    const answer = await web.json<{ digest: unknown; lineage: unknown }>(path)
    expect(answer, uid).toMatchObject(head)
    const window = await web.json<EventWindow>(`${path}/events?limit=500&payload=1`)
    expect(window).toMatchObject({ unread_bodies, unread: null })
    // The page gets the file from before an edit with the files.
    const whole = events.map(({ payload, told, ...event }) => {
      const { original: _, ...rest } = (told ?? {}) as { original?: string }
      return { ...event, payload, told: told && rest }
    })
    for (const event of window.events.filter((one) => one.payload === undefined)) {
      const alone = await web.json<{ events: EventWithBody[] }>(`${path}/events?seqs=${event.seq}&payload=1`)
      event.payload = alone.events[0]?.payload
    }
    expect(whole.length).toBeGreaterThan(3)
    expect(window.events, uid).toMatchObject(whole)
    const digest = printed('digest', uid)
    expect(answer.digest, uid).toEqual(digest)
    expect(await web.json(`${path}/digest`)).toEqual(digest)
    const lineage = printed('lineage', uid)
    expect(answer.lineage, uid).toEqual(lineage)
    expect(await web.json(`${path}/lineage`)).toEqual(lineage)
  }
})

it('evict --dry-run is the plan of the storage view', async () => {
  // Asked again where they differ: the answer is kept for five seconds, and a log folded meanwhile has given pages back.
  const differing = async (): Promise<unknown[]> => {
    const { plan } = await web.json<{ plan: { steps: unknown[] } }>('/api/storage')
    expect(plan.steps.length).toBeGreaterThan(0)
    const command = printed('evict', '--dry-run')
    return isDeepStrictEqual(plan, command) ? [] : [plan, command]
  }
  await expect.poll(differing).toEqual([])
})

it('doctor', async () => {
  const document = printed<DoctorDocument>('doctor')
  const answer = await web.json<DoctorDocument>('/api/doctor')
  expect(answer.counts).toEqual(document.counts)
  // Room on the disk and times of day move between two questions.
  const still = ({ findings }: DoctorDocument): unknown[] =>
    findings.map((one) => ({ ...one, text: one.text.replace(/[\d.]+ ([MG]B|min|h|d)\b/g, 'N $1') }))
  expect(still(answer)).toEqual(still(document))
  expect(document.findings.length).toBeGreaterThan(5)
})

it('an error is the same document', async () => {
  const missing = printed<{ error: { code: string } }>('show', 'nothing-like-it')
  const answer = await web.get('/api/sessions/nothing-like-it')
  expect(answer.status).toBe(404)
  expect(answer.json()).toEqual(missing)
})
