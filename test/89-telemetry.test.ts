// Telemetry after a sweep, to a scripted collector: every session once, what has grown again, nothing twice, and no text
// that was not asked for.

import { appendFileSync, cpSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Config } from '../src/config.ts'
import { sendTelemetry } from '../src/export/telemetry.ts'
import { assistant, call, result, text, user, write } from './setup/claude.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { cli, World } from './setup/sweeping.ts'

interface Span {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  attributes: { key: string; value: Record<string, unknown> }[]
}

const ID = 'aaaaaaaa-5555-4555-8555-555555555555'
const fields = { sessionId: ID, cwd: '/w/shop' }
let world: World
let path: string
let server: Server
let spans: Span[]
let bodies: string[]
/** What the collector answers, in order; then 200. */
let answers: number[]

beforeEach(async () => {
  world = new World()
  spans = []
  bodies = []
  answers = []
  server = createServer((request, response) => {
    let body = ''
    request.on('data', (bytes) => {
      body += bytes
    })
    request.on('end', () => {
      const status = answers.shift() ?? 200
      if (status === 200) {
        bodies.push(body)
        for (const { scopeSpans } of JSON.parse(body).resourceSpans)
          for (const scope of scopeSpans) spans.push(...scope.spans)
      }
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  path = write(join(world.home, '.claude', 'projects', '-w', `${ID}.jsonl`), [
    user('u1', null, 'Mend the zorblat', fields),
    assistant('a1', 'u1', [call('t1', 'Bash', { command: 'make quux' })], fields),
    user('r1', 'a1', [result('t1', 'quux: made')], fields),
    assistant('a2', 'r1', [text('Done.')], fields),
  ])
})
afterEach(async () => {
  await new Promise((done) => server.close(done))
  world.remove()
})

const endpoint = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const set = (more = ''): void => world.configure(`[otlp]\nendpoint = "${endpoint()}"\n${more}`)
const valueIn = (span: Span | undefined, key: string): unknown =>
  Object.values(span?.attributes.find((one) => one.key === key)?.value ?? {})[0]
const agents = (): Span[] => spans.filter((span) => span.name.startsWith('invoke_agent'))

describe('telemetry', () => {
  it('goes out after a sweep, what was remembered before as well, and then no more', async () => {
    await world.sweep()
    expect(bodies).toEqual([])
    set()
    expect((await world.sweep()).telemetry).toMatchObject({
      sent: 1,
      rejectedSpans: 0,
      hasMore: false,
      problems: [],
    })
    const [root] = agents()
    expect(spans.map((span) => span.name).sort()).toContain('execute_tool Bash')
    expect(new Set(spans.map((span) => span.traceId)).size).toBe(1)
    expect(new Set(spans.map((span) => span.spanId)).size).toBe(spans.length)
    for (const span of spans.filter((one) => one !== root)) expect(span.parentSpanId).toBe(root?.spanId)
    expect(bodies.join('')).not.toMatch(/zorblat|quux/)
    const count = bodies.length
    expect((await world.sweep()).telemetry).toMatchObject({ sent: 0 })
    expect(bodies).toHaveLength(count)
  })

  it('tells of a grown session only what is new, with the same ids', async () => {
    set()
    await world.sweep()
    const before = [...spans]
    spans = []
    appendFileSync(
      path,
      [
        user('u2', 'a2', 'Again', fields),
        assistant('a3', 'u2', [call('t2', 'Read', { file_path: '/w/shop/a' })], fields),
        user('r2', 'a3', [result('t2', 'a')], fields),
      ]
        .map((record) => `${JSON.stringify(record)}\n`)
        .join(''),
    )
    expect((await world.sweep()).telemetry).toMatchObject({ sent: 1 })
    expect(spans.map((span) => span.name)).toContain('execute_tool Read')
    expect(spans.map((span) => span.name)).not.toContain('execute_tool Bash')
    expect(agents().map((span) => span.spanId)).toEqual(
      before.filter((span) => span.name.startsWith('invoke_agent')).map((span) => span.spanId),
    )
    const isTwice = spans.filter(
      (span) => !span.name.startsWith('invoke_agent') && before.some((one) => one.spanId === span.spanId),
    )
    expect(isTwice).toEqual([])
  })

  it('has cost, and text where that is asked for', async () => {
    for (const scenario of ['tools'])
      cpSync(join(unpackAgent('claude'), scenario), world.home, { recursive: true })
    set('text = "on"\n')
    await world.sweep()
    expect(bodies.join('')).toContain('Mend the zorblat')
    expect(bodies.join('')).toContain('make quux')
    const costs = agents().map((span) => valueIn(span, 'recollect.cost_usd'))
    expect(costs.some((cost) => typeof cost === 'number' && cost > 0)).toBe(true)
  })

  it('sends sub-agents with their session, and what a fork brought along only once', async () => {
    for (const scenario of ['subagent', 'fork'])
      cpSync(join(unpackAgent('claude'), scenario), world.home, { recursive: true })
    set()
    await world.sweep()
    expect(new Set(spans.map((span) => span.spanId)).size).toBe(spans.length)
    const uids = agents().map((span) => `${valueIn(span, 'recollect.session_uid')} ${span.name}`)
    expect(new Set(uids).size).toBe(uids.length)
    const ids = spans.flatMap((span) => valueIn(span, 'gen_ai.response.id') ?? [])
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('leaves a collector that is away alone for a while, and then goes on', async () => {
    set()
    answers = [401]
    const { telemetry } = await world.sweep()
    expect(telemetry).toMatchObject({ sent: 0, hasMore: true, problems: [{ code: 'IO' }] })
    expect((await world.sweep()).telemetry).toMatchObject({ sent: 0, problems: [] })
    expect(bodies).toEqual([])
    const config = new Config({ env: world.env })
    expect(await sendTelemetry(config, () => Date.now() + 7_200_000)).toMatchObject({ sent: 1, problems: [] })
    expect(agents()).toHaveLength(1)
  })

  it('asks a collector that stays away ever less often, and begins anew once it answered', async () => {
    await world.sweep()
    set()
    const config = new Config({ env: world.env })
    const MINUTE = 60_000
    let now = Date.now()
    /** After how many minutes it was asked again, of a time in which somebody sweeps every minute. */
    const askedAgain = async (): Promise<number> => {
      for (let minutes = 1; ; minutes++) {
        now += MINUTE
        answers = [401]
        if ((await sendTelemetry(config, () => now))?.problems.length) return minutes
      }
    }
    answers = [401]
    await sendTelemetry(config, () => now)
    const waits: number[] = []
    for (let times = 0; times < 8; times++) waits.push(await askedAgain())
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60])
    answers = []
    now += 60 * MINUTE
    expect(await sendTelemetry(config, () => now)).toMatchObject({ sent: 1, problems: [] })
    appendFileSync(path, `${JSON.stringify(user('u2', 'a2', 'Again', fields))}\n`)
    world.configure('')
    await world.sweep()
    set()
    answers = [401]
    expect((await sendTelemetry(config, () => now))?.problems).toHaveLength(1)
    expect(await askedAgain()).toBe(1)
  })

  it('gives up what is refused, and sends the others', async () => {
    const other = 'bbbbbbbb-5555-4555-8555-555555555555'
    write(join(world.home, '.claude', 'projects', '-w', `${other}.jsonl`), [
      user('x1', null, 'Other', { sessionId: other, cwd: '/w' }),
      assistant('x2', 'x1', [text('Yes.')], { sessionId: other, cwd: '/w' }),
    ])
    set()
    answers = [400]
    expect((await world.sweep()).telemetry).toMatchObject({ sent: 1, problems: [{ code: 'REFUSED' }] })
    for (let tries = 0; tries < 4; tries++) {
      answers = [400]
      await world.sweep()
    }
    answers = []
    const count = bodies.length
    expect((await world.sweep()).telemetry).toMatchObject({ sent: 0, problems: [] })
    expect(bodies).toHaveLength(count)
  })

  it('is warned of on the command line, with exit code 0; an address that is none is refused', async () => {
    set()
    await new Promise((done) => server.close(done))
    const { code, stderr, stdout } = cli(world.env, 'sweep', '--json')
    expect([code, stderr]).toEqual([0, expect.any(String)])
    expect(JSON.parse(stdout).telemetry).toMatchObject({
      sent: 0,
      has_more: true,
      problems: [{ code: 'IO' }],
    })
    world.configure('[otlp]\nendpoint = "no address"\n')
    expect(cli(world.env, 'sweep').code).toBe(2)
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  })
})
