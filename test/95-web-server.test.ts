// The server of the page: who it answers, what it answers, and what it says when the memory is not there or damaged.

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ChangeSummary, FileChange } from '../src/digest/changes.ts'
import type { BriefPage } from '../src/query/narrow.ts'
import type { Outline } from '../src/query/outline.ts'
import type { Overview } from '../src/query/overview.ts'
import type { Spend } from '../src/query/spend.ts'
import { databasesOf } from '../src/store/databases.ts'
import type { EventWindow } from '../src/web/server/events.ts'
import type { Storage } from '../src/web/server/storage.ts'
import { agentRoots, TestMemory } from './setup/memory.ts'
import { serve, type WebClient } from './setup/web.ts'

let memory: TestMemory
let web: WebClient
let tools: string

beforeAll(async () => {
  const { roots, uids } = agentRoots(['claude-2.1.200', 'grok-1.0.5', 'codex-0.121'])
  tools = uids.get('claude-2.1.200/tools')?.[0] as string
  memory = new TestMemory(roots)
  await memory.sweep()
  web = await (await serve(memory.home)).signIn()
})

afterAll(async () => {
  await web.server.close()
  memory.remove()
})

describe('the guard', () => {
  it('answers only under names that are its own', async () => {
    const port = web.server.port
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      `127.0.0.1.evil.example:${port}`,
      '127.0.0.1',
    ])
      expect((await web.raw('/api/sessions', { ...web.cookie, host })).status, host).toBe(421)
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `LOCALHOST:${port}`])
      expect((await web.raw('/api/sessions', { ...web.cookie, host })).status, host).toBe(200)
  })

  it('refuses whoever has no cookie, or a wrong one', async () => {
    for (const headers of [{}, { cookie: 'recollect=guess' }, { cookie: 'recollect=' }] as Record<
      string,
      string
    >[]) {
      for (const path of ['/', '/api/sessions', '/api/live', '/page.js', '/s/anything'])
        expect((await web.raw(path, headers)).status, path).toBe(401)
    }
  })

  it('says of every refusal what it is, where, and what to do', async () => {
    const evil = { ...web.cookie, host: 'evil.example' }
    for (const headers of [{}, evil, { ...web.cookie, origin: 'http://evil.example' }] as Record<
      string,
      string
    >[]) {
      const { error } = (await web.raw('/api/sessions', headers)).json() as { error: Record<string, string> }
      expect(error).toMatchObject({ code: 'USAGE', where: '/api/sessions' })
      expect(error['hint']).toMatch(/recollect ui/)
      const page = await web.raw('/s/anything', headers)
      expect(page.headers['content-type']).toMatch(/^text\/plain/)
      expect(page.body).toMatch(/^error: .+ \[USAGE\]\nwhere: \/s\/anything\ntry: .*recollect ui.*\n$/)
    }
    // Who opens it in a browser gets a page, and nothing of what was asked for in it.
    const opened = await web.raw('/s/%3Cb%3E', { 'sec-fetch-mode': 'navigate' })
    expect([opened.status, opened.headers['content-type']]).toEqual([
      401,
      expect.stringMatching(/^text\/html/),
    ])
    expect(opened.body).toMatch(/<p role="alert">not signed in<\/p><p>.*recollect ui/)
    expect(opened.body).not.toContain('<b>')
    const used = await web.raw('/open?token=wrong')
    expect(used.body).toMatch(/^error: .+ \[USAGE\]\nwhere: \/open\ntry: .*recollect ui.*\n$/)
    expect((await web.get('/nothing.js')).body).toMatch(/\[NOT_FOUND\]\nwhere: \/nothing\.js\ntry: .+\n$/)
  })

  it('takes the token of the address once', async () => {
    const other = await serve(memory.home)
    try {
      const { pathname, search } = new URL(other.server.url)
      expect((await other.raw('/open?token=wrong')).status).toBe(401)
      for (const method of ['HEAD', 'OPTIONS', 'POST'])
        expect((await other.raw(pathname + search, { origin: other.origin }, method)).status, method).toBe(
          405,
        )
      const first = await other.raw(pathname + search)
      expect(first.status).toBe(200)
      expect(String(first.headers['set-cookie'])).toMatch(/HttpOnly; SameSite=Strict/)
      expect(first.body).toContain('content="0;url=/"')
      expect(first.body).not.toContain('token')
      expect((await other.raw(pathname + search)).status).toBe(401)
    } finally {
      await other.server.close()
    }
  })

  it('refuses other origins, and changes without origin, token or POST', async () => {
    const uid = { session_uid: tools }
    const evil = { origin: 'http://evil.example' }
    expect((await web.raw('/api/sessions', { ...web.cookie, ...evil })).status).toBe(403)
    expect((await web.post('/api/pin', uid, evil)).status).toBe(403)
    expect((await web.post('/api/pin', uid, { origin: 'null' })).status).toBe(403)
    expect((await web.post('/api/pin', uid, { 'x-recollect-token': 'guess' })).status).toBe(403)
    expect((await web.raw('/api/pin', web.cookie, 'POST', JSON.stringify(uid))).status).toBe(403)
    const none = await web.get('/api/pin')
    expect(none.status).toBe(404)
    expect(none.json()).toEqual({
      error: {
        code: 'NOT_FOUND',
        message: 'no such question',
        where: '/api/pin',
        hint: expect.stringContaining('reload'),
      },
    })
    const site = { ...web.cookie, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }
    expect((await web.raw('/api/sessions', site)).status).toBe(403)
    const { pins } = await web.json<Storage>('/api/storage')
    expect(pins).toEqual([])
  })

  it('sends a policy without inline script or remote origin, and nothing to keep', async () => {
    for (const path of ['/', '/page.js', '/api/sessions', '/api/nothing', '/open?token=x']) {
      const { headers } = await web.get(path)
      const policy = String(headers['content-security-policy'])
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain("require-trusted-types-for 'script'")
      expect(policy).not.toMatch(/unsafe|https?:|\*/)
      expect(headers['cache-control']).toBe('no-store')
      expect(headers['x-content-type-options']).toBe('nosniff')
    }
  })

  it('gives out no file but its own', async () => {
    const paths = [
      '/../package.json',
      '/%2e%2e/package.json',
      '/..%2fpackage.json',
      '/page.js/../../package.json',
    ]
    for (const path of [...paths, '/package.json', '/memory.db', '/%2e%2e%2f%2e%2e%2fetc%2fpasswd']) {
      const { body } = await web.get(path)
      expect(body, path).not.toContain('"recollect"')
      expect(body, path).not.toContain('root:')
      expect(body, path).not.toContain('SQLite')
    }
    const sessions = ['..%2f..%2fetc%2fpasswd', 'a%27%20OR%201=1', '%F0%9F%92%A9', '%FF', '%']
    for (const id of sessions) expect((await web.get(`/api/sessions/${id}`)).status, id).toBeOneOf([400, 404])
  })

  it('takes no NUL for the beginning of every id', async () => {
    const known = tools.slice(0, -1)
    for (const id of ['%00', '%00%00', 'claude:%00', `${known}%00`, '%00%231'])
      for (const path of [
        ...['', '/digest', '/lineage', '/outline', '/events', '/find?q=x', '/spend', '/edits'].map(
          (part) => `/api/sessions/${id}${part}`,
        ),
        `/api/compare?a=${id}&b=${id}`,
        `/api/search?q=calc&session=${id}`,
      ]) {
        const { status, json } = await web.get(path)
        expect([path, status]).toEqual([path, 404])
        expect(json()).toMatchObject({ error: { code: 'NOT_FOUND', hint: expect.any(String) } })
      }
    expect((await web.post('/api/pin', { session_uid: '\0' })).status).toBe(404)
  })

  it('wants a password before others can reach it', async () => {
    await expect(serve(memory.home, { host: '0.0.0.0' })).rejects.toMatchObject({ code: 'USAGE' })
    const open = await serve(memory.home, { host: '0.0.0.0', password: 'correct horse' })
    try {
      expect(open.server.url).not.toContain('token')
      expect((await open.raw('/api/sessions')).status).toBe(401)
      const form = { origin: open.origin, 'content-type': 'application/x-www-form-urlencoded' }
      const wrong = await open.raw('/login', form, 'POST', 'password=guess')
      expect(wrong.headers['set-cookie']).toBeUndefined()
      const right = await open.raw('/login', form, 'POST', 'password=correct+horse')
      const cookie = String(right.headers['set-cookie']).split(';')[0] as string
      expect((await open.raw('/api/sessions', { cookie })).status).toBe(200)
    } finally {
      await open.server.close()
    }
  })
})

describe('the answers', () => {
  it('list sessions with facets that add up', async () => {
    const page = await web.json<BriefPage>('/api/sessions?limit=5')
    expect(page.sessions).toHaveLength(5)
    const sum = page.facets.flavor.reduce((total, one) => total + one.count, 0)
    expect(sum).toBe(page.total)
    const [flavor] = page.facets.flavor as [{ value: string; count: number }]
    const narrowed = await web.json<BriefPage>(`/api/sessions?flavor=${flavor.value}&limit=500`)
    expect(narrowed.total).toBe(flavor.count)
    expect(narrowed.sessions.every((one) => one.flavor === flavor.value)).toBe(true)
    // Its own facet still tells what the other choices would give.
    expect(narrowed.facets.flavor).toEqual(page.facets.flavor)
  })

  it('narrow as one types, sort and page', async () => {
    const all = await web.json<BriefPage>('/api/sessions?limit=500&sort=cost')
    const costs = all.sessions.map((one) => Number(one.cost_usd ?? -1))
    expect(costs).toEqual(costs.toSorted((a, b) => b - a))
    const second = await web.json<BriefPage>('/api/sessions?limit=3&offset=3&sort=cost')
    expect(second.sessions.map((one) => one.session_uid)).toEqual(
      all.sessions.slice(3, 6).map((one) => one.session_uid),
    )
    const text = await web.json<BriefPage>(`/api/sessions?q=${tools.slice(-12)}`)
    expect(text.sessions.map((one) => one.session_uid)).toEqual([tools])
    expect((await web.get('/api/sessions?sort=nonsense')).status).toBe(400)
    expect((await web.get('/api/sessions?limit=-1')).status).toBe(400)
  })

  it('give one session with outline, window, spend and edits that agree', async () => {
    const path = `/api/sessions/${encodeURIComponent(tools)}`
    const { session } = await web.json<{ session: { event_count: number } }>(path)
    const outline = await web.json<Outline>(`${path}/outline`)
    expect(outline.seq).toHaveLength(session.event_count)
    const { events } = await web.json<EventWindow>(`${path}/events?limit=500`)
    expect(events.map((event) => event.seq)).toEqual(outline.seq)
    expect(events.every((event) => event.told && event.payload === undefined)).toBe(true)
    const records = await web.json<EventWindow>(`${path}/events?limit=500&payload=1`)
    expect(records.events.every((event) => event.payload !== undefined)).toBe(true)
    const window = await web.json<EventWindow>(`${path}/events?from=4&limit=3`)
    expect(window.events).toEqual(events.filter((event) => event.seq >= 4).slice(0, 3))
    const picked = await web.json<EventWindow>(`${path}/events?seqs=7,2,3`)
    expect(picked.events.map((event) => event.seq)).toEqual([2, 3, 7])
    const results = outline.call_seq.filter((seq) => seq > 0)
    expect(results.length).toBeGreaterThan(3)
    const spend = await web.json<Spend>(`${path}/spend`)
    const turns = spend.turns.reduce((sum, turn) => sum + turn.responses, 0)
    expect(turns).toBe(spend.responses.filter((one) => one.is_counted).length)
    const { files } = await web.json<ChangeSummary>(`${path}/changes`)
    const calc = files.find((file) => file.path === 'calc.js')
    expect(calc).toMatchObject({ added: 1, removed: 1, failed: 0 })
    const { hunks } = await web.json<FileChange>(`${path}/changes?file=calc.js`)
    const lines = hunks.flatMap((hunk) => hunk.lines).join('\n')
    expect(lines).toMatch(/^-.*a - b/m)
    expect(lines).toMatch(/^\+.*a \+ b/m)
    const found = await web.json<{ seqs: number[] }>(`${path}/find?q=calc`)
    expect(found.seqs.length).toBeGreaterThan(0)
  })

  it('cover every other view', async () => {
    const overview = await web.json<Overview>('/api/overview?days=3650&timezone=UTC')
    const list = await web.json<BriefPage>('/api/sessions')
    expect(overview.totals.sessions).toBe(list.total)
    const models = overview.cost_by_day.reduce((sum, one) => sum + Number(one.cost_usd ?? 0), 0)
    expect(models).toBeCloseTo(Number(overview.totals.usage.cost_usd), 6)
    for (const path of ['usage?group=model', 'patterns', 'lineage', 'storage', 'health', 'search?q=calc'])
      expect((await web.get(`/api/${path}`)).status, path).toBe(200)
    const { hits } = await web.json<{ hits: unknown[] }>('/api/search?q=calc')
    expect(hits.length).toBeGreaterThan(0)
    const [a, b] = list.sessions
    const compared = await web.get(`/api/compare?a=${a?.session_uid}&b=${b?.session_uid}`)
    expect(compared.status).toBe(200)
    expect((await web.get('/api/compare?a=x')).status).toBe(404)
    expect((await web.get('/api/compare')).status).toBe(400)
  })

  it('pin and unpin, for all to see', async () => {
    expect((await web.post('/api/pin', { session_uid: tools })).status).toBe(200)
    const pinned = await web.json<Storage>('/api/storage')
    expect(pinned.pins.map((one) => one.session_uid)).toEqual([tools])
    const { session } = await web.json<{ session: { is_pinned: boolean } }>(`/api/sessions/${tools}`)
    expect(session.is_pinned).toBe(true)
    await web.post('/api/unpin', { session_uid: tools })
    expect((await web.json<Storage>('/api/storage')).pins).toEqual([])
  })
})

describe('a memory that is not there', () => {
  it('is told with the next command, and found when it appears', async () => {
    const { roots } = agentRoots(['codex-0.45'])
    const empty = new TestMemory(roots)
    const client = await (await serve(empty.home)).signIn()
    try {
      const answer = await client.get('/api/sessions')
      expect(answer.status).toBe(404)
      expect(answer.json()).toMatchObject({ error: { code: 'NO_MEMORY', hint: 'run: recollect sweep' } })
      await empty.sweep()
      expect((await client.json<BriefPage>('/api/sessions')).total).toBeGreaterThan(0)
      // The cache may be thrown away at any time.
      rmSync(empty.paths.cacheDirectory, { recursive: true })
      expect((await client.json<BriefPage>('/api/sessions')).total).toBeGreaterThan(0)
    } finally {
      await client.server.close()
      empty.remove()
    }
  })

  it('or damaged, is told as such', async () => {
    const broken = new TestMemory({})
    writeFileSync(broken.paths.memoryPath, 'this is no database, though it may have been one')
    const client = await (await serve(broken.home)).signIn()
    try {
      const answer = await client.get('/api/sessions')
      expect(answer.status).toBe(500)
      expect(answer.json()).toMatchObject({
        error: { code: 'CORRUPT', where: broken.paths.memoryPath, hint: expect.any(String) },
      })
      expect((await client.get('/')).status).toBe(200)
    } finally {
      await client.server.close()
      broken.remove()
    }
  })
})

describe('the live feed', () => {
  it('tells of sessions that another process wrote, without being asked', async () => {
    const { roots } = agentRoots(['grok-chat'])
    const growing = new TestMemory(roots)
    await growing.sweep()
    const client = await (await serve(growing.home)).signIn()
    try {
      const stream = await fetch(`${client.origin}/api/live`, { headers: client.cookie })
      const reader = (stream.body as ReadableStream<Uint8Array>).getReader()
      let text = ''
      const until = async (word: string): Promise<void> => {
        while (!text.includes(word)) text += new TextDecoder().decode((await reader.read()).value)
      }
      await until('hello')
      growing.write((store) =>
        databasesOf(store.reader).memory.exec("UPDATE sessions SET title = 'seen live', ingested_at = 9e12"),
      )
      await until('seen live')
      expect(text).toContain('event: change')
      await reader.cancel()
    } finally {
      await client.server.close()
      growing.remove()
    }
  })
})

describe('the page', () => {
  it('never hands text to a parser of markup', () => {
    const directory = join(import.meta.dirname, '..', 'src', 'web', 'page')
    const names = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /\.tsx?$/.test(name),
    )
    expect(names.length).toBeGreaterThan(0)
    for (const name of names) {
      const text = readFileSync(join(directory, name), 'utf8')
      expect(text, name).not.toMatch(
        /dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(/,
      )
    }
  })
})
