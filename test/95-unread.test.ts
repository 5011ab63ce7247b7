// Bodies that should be in the cache and cannot be read, because their segment was deleted or damaged: every surface says how
// many, in the same words and with the same command, and none takes damage for what was recorded.
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { ChangeSummary } from '../src/digest/changes.ts'
import type { SearchDocument } from '../src/query/answer.ts'
import { sessionEvents } from '../src/query/events.ts'
import { type SearchHit, search } from '../src/query/search.ts'
import { type Unread, unreadOf } from '../src/query/unread.ts'
import { Bodies } from '../src/store/bodies.ts'
import { appendChunks, compressChunk, readChunk, segmentPath } from '../src/store/segments.ts'
import type { EventWindow } from '../src/web/server/events.ts'
import { BrowserSession, describeInBrowser } from './setup/browser.ts'
import { IS_LONG } from './setup/long.ts'
import { overStdio } from './setup/mcp.ts'
import fc from './setup/properties.ts'
import { type CliResult, cli, World } from './setup/sweeping.ts'
import { type Told, tell } from './setup/told.ts'
import { serve, type WebClient } from './setup/web.ts'

const LONG = 'The boiler hums, the valve is shut. '.repeat(40)
/** Words of a body that are in no summary: a search has to read it. */
const DEEP = 'okapi'

let world: World
let bad: Told
let good: Told
let segment: string
let web: WebClient

beforeAll(async () => {
  world = new World()
  bad = tell(world.home, 'bad', [
    { ask: `${LONG}and then the ${DEEP} came` },
    { think: `${LONG}What now?` },
    { tool: 'Edit', input: { file_path: '/w/a.ts', old_string: 'one', new_string: 'two' }, output: 'done' },
    { tool: 'Bash', input: { command: 'make boiler' }, output: LONG },
    { answer: 'It is mended.' },
  ])
  good = tell(world.home, 'good', [{ ask: 'Check the wires' }, { answer: 'Fine.' }], {
    at: '2026-01-01T10:00:00Z',
  })
  await world.sweep()
  segment = segmentPath(join(world.paths.cacheDirectory, 'blobs'), bad.uid)
  copyFileSync(segment, join(world.base, 'kept'))
  web = await (await serve(world.memory, { env: world.env })).signIn()
})
afterEach(async () => {
  if (!existsSync(away())) return copyFileSync(join(world.base, 'kept'), segment)
  renameSync(away(), bad.path)
  await world.sweep({ full: true })
  copyFileSync(segment, join(world.base, 'kept'))
})
afterAll(async () => {
  await web.server.close()
  world.remove()
})

const DAMAGE = {
  lost: () => rmSync(segment),
  cut: () => writeFileSync(segment, readFileSync(segment).subarray(0, 20)),
  overwritten: () => writeFileSync(segment, Buffer.alloc(statSync(segment).size, 7)),
  // No source had it any more: its events are marked, and `verify` is content.
  'known to be lost for good': async () => {
    rmSync(segment)
    renameSync(bad.path, away())
    await world.sweep({ repair: true })
    expect(run('verify')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/\d+ bodies are lost for good/),
    })
  },
}
const away = (): string => join(world.base, 'away.jsonl')
const run = (...args: string[]): CliResult => cli(world.env, ...args)
const shown = (id: string): { unread_bodies: number } =>
  JSON.parse(run('show', id, '--payload', '--json').stdout) as { unread_bodies: number }
const path = (of: Told, more: string): string => `/api/sessions/${encodeURIComponent(of.uid)}/${more}`
/** The sentence, with any count: not every form of a session needs all of its bodies. */
const SAID =
  /(?:1 body|\d+ bodies) cannot be read from the cache; (?:its summary stands|summaries stand) in for (?:it|them)/

describe.each(Object.entries(DAMAGE))('where the segment is %s', (_, damage) => {
  it('every form of show says so, in itself where a person reads it', async () => {
    await damage()
    for (const [form, ...options] of [
      ['text'],
      ...(IS_LONG ? [['text', '--full']] : []),
      ['text', '--thinking'],
      ['md'],
      ['html'],
    ]) {
      const { code, stdout, stderr } = run('show', bad.id, '--format', form as string, ...options)
      expect([code, stdout, stderr], form).toEqual([
        4,
        expect.stringMatching(SAID),
        expect.stringMatching(SAID),
      ])
    }
    for (const seq of IS_LONG ? [1, 2, 3, 4, 5, 6, 7] : [1, 5]) {
      const one = run('show', `${bad.id}#${seq}`)
      expect([one.code, one.stdout], String(seq)).toEqual([4, expect.stringMatching(SAID)])
    }
    // Records that cannot be read are not replaced by anything, and nothing else is claimed.
    const raw = run('show', bad.id, '--raw')
    expect([raw.code, raw.stdout]).toEqual([4, ''])
    expect(raw.stderr).toMatch(/ \d+ bodies cannot be read from the cache; their records are left out\n/)
    const one = run('show', `${bad.id}#1`, '--raw')
    expect(one.stderr).toContain('1 body cannot be read from the cache; its record is left out\n')
  })

  it('a call is not shown as one without arguments', async () => {
    await damage()
    const exported = (format: string): string => run('export', bad.id, '--format', format).stdout
    const [md, html] = [exported('md'), exported('html')]
    expect(md).toContain('Bash: make boiler')
    expect(html).toContain('Bash: make boiler')
    expect(`${md}${html}`).not.toMatch(/\{\}/)
    const { steps } = JSON.parse(exported('atif')) as {
      steps: { tool_calls?: { extra: { summary?: string } }[] }[]
    }
    const calls = steps.flatMap((step) => step.tool_calls ?? [])
    expect(calls.map((call) => call.extra.summary)).toEqual(['Edit /w/a.ts', 'Bash: make boiler'])
  })

  it.each(['md', 'html', 'jsonl', 'atif'])('an export as %s says so in itself', async (format) => {
    await damage()
    const { code, stdout, stderr } = run('export', bad.id, '--format', format)
    expect(code).toBe(4)
    expect(stderr).toMatch(SAID)
    expect(stdout).toMatch(new RegExp(`${SAID.source}: recollect verify`))
    expect(stdout).toContain('boiler')
    const other = run('export', good.id, '--format', format)
    expect([other.code, other.stdout]).toEqual([0, expect.not.stringMatching(SAID)])
  })

  it('JSON Lines count as show does', async () => {
    await damage()
    const lines = run('export', bad.id, '--format', 'jsonl').stdout.trim().split('\n')
    expect(JSON.parse(lines.at(-1) as string)).toMatchObject({
      type: 'unread',
      session_uid: bad.uid,
      bodies: shown(bad.id).unread_bodies,
    })
  })

  it('the page is told, window by window, what show counts', async () => {
    await damage()
    const { unread_bodies: count } = shown(bad.id)
    expect(count).toBeGreaterThan(5)
    const window = await web.json<EventWindow>(path(bad, 'events?limit=500'))
    expect(window).toMatchObject({ unread_bodies: count, unread: unreadOf(count) })
    expect(window.events.every((event) => event.told === null)).toBe(true)
    const changes = await web.json<ChangeSummary>(path(bad, 'changes'))
    expect(changes).toMatchObject({ files: [], unreadable: [], unread: unreadOf(2) })
    const whole = await web.json<EventWindow>(path(good, 'events?limit=500'))
    expect(whole).toMatchObject({ unread_bodies: 0, unread: null })
  })

  it('a search names the lines it could not read, on every surface', async () => {
    await damage()
    const { code, stdout, stderr } = run('search', DEEP, '--json')
    expect([code, stderr]).toEqual([4, expect.stringMatching(SAID)])
    const document = JSON.parse(stdout) as SearchDocument
    expect(document).toMatchObject({ unread_bodies: 1, unread: unreadOf(1), hits: [{ is_unread: true }] })
    expect(await web.json(`/api/search?q=${DEEP}`)).toMatchObject(document)
    expect(run('search', 'wires')).toMatchObject({ code: 0 })
    expect(run('search', DEEP).stdout).toMatch(/^ +#1 .*\(its body cannot be read\)$/m)
    expect(run('search', 'boiler').stdout).not.toContain('cannot be read')
  })

  it('an agent is told by the tools that read', async () => {
    await damage()
    const client = await overStdio(world.env)
    for (const [name, args] of [
      ['session', { id: bad.id }],
      ['context', { id: `${bad.id}#2` }],
      ['context', { id: `${bad.id}#2`, before: 0, after: 0 }],
      ['search', { query: DEEP, repo: '*' }],
    ] as const) {
      const answer = await client.call(name, args)
      const count = answer.data['unread_bodies'] as number
      const { text, fix } = unreadOf(count) ?? { text: '', fix: '' }
      expect([count > 0, answer.data['about']], name).toEqual([
        true,
        expect.stringContaining(`${text}: ${fix}`),
      ])
      expect(answer.text, name).toContain(`${text}: ${fix}`)
    }
    const whole = await client.call('session', { id: good.id })
    expect([whole.data['unread_bodies'], SAID.test(whole.text)]).toEqual([undefined, false])
  })
})

it('a body that was changed is never taken for what was recorded', () => {
  const bodies = (): (string | undefined)[] =>
    world.read((handle) => {
      const all = new Bodies(handle)
      return [...sessionEvents(handle, bad.uid)].map((event) => all.text(event.payload_ref))
    })
  const recorded = bodies()
  expect(recorded).not.toContain(undefined)
  const bytes = readFileSync(segment)
  let damagedCount = 0
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.nat(7), (at, bit) => {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] as number) ^ (1 << bit)
      writeFileSync(segment, changed)
      for (const [index, body] of bodies().entries())
        if (body === undefined) damagedCount++
        else expect(body).toBe(recorded[index])
    }),
    { numRuns: 300 },
  )
  expect(damagedCount).toBeGreaterThan(100)
})

it('a line of a body that was changed is never shown as found', () => {
  const found = (): SearchHit[] => world.read((handle) => search(handle, DEEP))
  expect(found()).toMatchObject([{ line: expect.stringContaining(`${DEEP} came`), is_unread: false }])
  // A chunk that can be read, of a body as long as the one that was recorded: only the hash tells.
  const changed = readChunk(segment, 0).toString().replace(`${DEEP} came`, `${DEEP} left`)
  appendChunks(segment, 0, [compressChunk(Buffer.from(changed))])
  expect(found()).toMatchObject([{ line: expect.not.stringContaining(DEEP), is_unread: true }])
})

describeInBrowser('the page', () => {
  it('says it above a transcript, its files, its raw records and what a search found', async () => {
    DAMAGE.lost()
    const browser = await BrowserSession.open(world.memory, {}, { env: world.env })
    const { page } = browser
    const expectNote = async (address: string, unread: Unread | null): Promise<void> => {
      await browser.goto(address)
      const note = page.locator('.unread', { hasText: unread?.text ?? 'none' })
      await note.waitFor()
      expect(await note.textContent()).toContain(unread?.fix)
    }
    try {
      const session = `/s/${encodeURIComponent(bad.uid)}`
      const window = await web.json<EventWindow>(path(bad, 'events?limit=500'))
      const changes = await web.json<ChangeSummary>(path(bad, 'changes'))
      await expectNote(`${session}?tab=raw`, window.unread)
      await expectNote(`${session}?tab=files`, changes.unread)
      await expectNote(`/search?q=${DEEP}`, unreadOf(1))
      await expectNote(`${session}?all=1`, window.unread)
      await page.locator('.came').first().waitFor({ state: 'attached' })
      await page.locator('.transcript').getByText('It is mended.').first().waitFor()
      expect(browser.seen.errors).toEqual([])
    } finally {
      await browser.close()
    }
  })
})
