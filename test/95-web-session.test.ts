// One session on the page, in Chromium: its verdict, finding and reading in it, its changes, its trace, and what can be done
// with it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { ChangeSummary } from '../src/digest/changes.ts'
import type { Digest } from '../src/digest/digest.ts'
import type { Session } from '../src/model.ts'
import type { TreeCost } from '../src/query/tree-cost.ts'
import { BrowserSession, describeInBrowser } from './setup/browser.ts'
import { agentRoots, TestMemory } from './setup/memory.ts'
import { ToldSession } from './setup/told-session.ts'

/** What is asked for here of `/api/sessions/ID`. */
interface Answered {
  session: Session
  digest: (Digest & { tree: TreeCost | null }) | null
}

const HOUR = 3_600_000
const TEST = 'npm test -- cart'
const RED = 'FAIL cart\nAssertionError: expected 2 items, got 3\nTests 1 failed | 4 passed'
const WHOLE = 'export const total = (items) => {\n  return items.length + 1\n}\n'

let base: string
let memory: TestMemory
let web: BrowserSession
let failed: ToldSession
let mended: ToldSession
let live: ToldSession
let windows: ToldSession
let retried: ToldSession
let parent: string

const ask = async <T>(path: string): Promise<T> =>
  (await web.page.evaluate(`fetch('/api/${path}').then(answer => answer.json())`)) as T
const params = (): URLSearchParams => new URL(web.page.url()).searchParams
const open = async (uid: string, rest = ''): Promise<void> => {
  await web.goto(`/s/${encodeURIComponent(uid)}${rest}`)
  await web.page.locator('.verdict-card').waitFor()
}
const transcript = async (uid: string, rest = ''): Promise<void> => {
  await open(uid, rest)
  await web.page.locator('.slot .step:not(.pending)').first().waitFor()
}
const scrollTop = (): Promise<number> =>
  web.page.locator('.scroller').evaluate((scroller) => Math.round(scroller.scrollTop))

function writeSessions(root: string): void {
  const at = (name: string, id: string, startAt: number, cwd?: string): ToldSession =>
    new ToldSession(join(root, `-home-dev-${name}`, `${id}.jsonl`), { id, startAt, ...(cwd ? { cwd } : {}) })
  const id = (n: number): string => `eeeeeee${n}-0000-4000-8000-000000000001`
  mended = at('shop', id(1), Date.now() - 50 * HOUR)
  mended
    .prompt('The cart counts one item too many. Mend it.')
    .call('Bash', { command: TEST }, RED, { isError: true })
  mended.edit('/home/dev/shop/src/cart.ts', 'items.length + 1', 'items.length', WHOLE)
  mended.call('Bash', { command: TEST }, 'Tests 5 passed').say('Done: the cart counts right, all tests pass.')
  failed = at('shop', id(2), Date.now() - 40 * HOUR)
  failed.prompt('Count the items of the cart.').think('Perhaps the needlethought is in the loop.')
  failed.call(
    'Bash',
    { command: 'cat long.txt' },
    [...Array(80).keys()]
      .map((n) => `line ${n}`)
      .join('\n')
      .replace('line 70', 'line needletail'),
  )
  failed.edit(
    '/home/dev/shop/src/cart.ts',
    'return items.length',
    'return items.size',
    'const a = 1\nreturn items.length\n',
  )
  failed.edit('src/cart.ts', 'return items.size', 'return items.count')
  failed.edit('/home/dev/shop/README.md', 'one thing', 'another thing')
  failed.wait(1200).prompt('And now run the tests.')
  for (let n = 0; n < 60; n++)
    failed.call('Bash', { command: `echo ${n}` }, `said ${n}\n${'more\n'.repeat(6)}`)
  failed.edit('/home/dev/shop/README.md', 'a third', 'a fourth')
  failed.call('Bash', { command: TEST }, RED, { isError: true }).say('The tests do not pass.')
  live = at('shop', id(3), Date.now() - 60_000)
  live.prompt('What is in the cart?').say('Two things. Done.')
  windows = at('win', id(4), Date.now() - 30 * HOUR, 'C:\\code\\shop')
  windows
    .prompt('Rename it.')
    .edit('C:\\code\\shop\\src\\a.ts', 'const a', 'const b')
    .edit('c:/code/shop/src/a.ts', 'const b', 'const c')
    .call('Bash', { command: "sed -i 's/one/two/' src/b.ts" }, '')
  windows.say('Done.')
  const rename = { file_path: '/home/dev/again/a.ts', old_string: 'one', new_string: 'two' }
  retried = at('again', id(5), Date.now() - 60 * HOUR, '/home/dev/again').prompt('Rename it.')
  retried.call('Edit', rename, 'File has not been read yet. Read it first.', { isError: true })
  retried.call('Read', { file_path: rename.file_path }, 'const one = 1')
  retried.edit('/home/dev/.notes/names.md', 'none', 'two').edit(rename.file_path, 'one', 'two').say('Done.')
}

describeInBrowser('one session', () => {
  beforeAll(async () => {
    const { roots, uids } = agentRoots(['grok-1.0.5'])
    parent = uids.get('grok-1.0.5/subagent')?.[0] as string
    base = mkdtempSync(join(tmpdir(), 'recollect-session-'))
    const root = join(base, '.claude', 'projects')
    writeSessions(root)
    memory = new TestMemory({ ...roots, claude: [root] })
    await memory.sweep()
    const runForget = async (uid: string) => ({ code: 0, output: `forgot ${uid}` })
    const context = { permissions: ['clipboard-read', 'clipboard-write'] }
    web = await BrowserSession.open(memory.home, context, { runForget })
  })

  afterAll(async () => {
    await web?.close()
    memory?.remove()
    rmSync(base, { recursive: true, force: true })
  })

  afterEach(() => {
    expect(web.seen).toEqual({ outside: [], violations: [], errors: [], dialogs: [] })
  })

  it('begins with a verdict: why, the error that decided it with a jump, and what mended it elsewhere', async () => {
    await open(failed.uid)
    const card = web.page.locator('.verdict-card')
    const text = (await card.textContent()) ?? ''
    expect(text).toMatch(/failed.*the last tests fail.*\(likely\)/)
    expect(text).toContain('Deciding error')
    expect(text).toContain('AssertionError: expected 2 items, got 3')
    expect(text).toMatch(/Fixed in 1 other session by .*cart\.ts/)
    expect(text).toMatch(/Asked #\d+Count the items of the cart\..*Last answer #\d+The tests do not pass\./)
    await expect.poll(() => card.textContent()).toMatch(/2 files, 4 edits\s*\+\d+ −\d+/)
    await card
      .locator('.verdict-fact', { hasText: 'Deciding error' })
      .getByRole('link', { name: /^event/ })
      .click()
    await web.page.locator('.slot.target', { hasText: 'AssertionError' }).waitFor()
    // Who reads has the room; the first line stays.
    expect(await card.textContent()).not.toContain('Deciding error')
    await open(mended.uid)
    expect(await web.page.locator('.verdict-card').textContent()).toMatch(/fixed by.*cart\.ts/)
  })

  it('says of one that goes on what it does, not how it ended', async () => {
    await open(live.uid)
    const text = (await web.page.locator('.verdict-card header').textContent()) ?? ''
    expect(text).toContain('waiting for you')
    expect(text).not.toContain('success')
  })

  it('tells the cost alone and with sub-agents', async () => {
    const { digest } = await ask<Answered>(`sessions/${encodeURIComponent(parent)}`)
    expect(digest?.tree?.sessions).toBeGreaterThan(1)
    await open(parent)
    const cost = web.page.locator('.verdict-fact', { hasText: 'Cost' })
    expect(await cost.textContent()).toMatch(/with \d+ sub-agents?/)
  })

  it('counts edits the same everywhere, and no moment twice', async () => {
    const { digest, session } = await ask<Answered>(`sessions/${encodeURIComponent(failed.uid)}`)
    const changes = await ask<ChangeSummary>(`sessions/${encodeURIComponent(failed.uid)}/changes`)
    expect(changes.edit_count).toBe(digest?.markers.edits)
    await open(failed.uid, '?tab=timeline')
    const rows = web.page.getByRole('table', { name: 'Time', exact: true }).locator('tbody tr')
    await rows.first().waitFor()
    const texts = await rows.allTextContents()
    expect(texts.join('\n')).toMatch(/waiting for you20 min/)
    const minutes = (name: RegExp): number => {
      const [, hours = '0', left = '0'] =
        /(?:(\d+) h )?(\d+) min/.exec(texts.find((one) => name.test(one))?.replace('5 min)', '') ?? '') ?? []
      return Number(hours) * 60 + Number(left)
    }
    expect(minutes(/^active/) + minutes(/^waiting/)).toBeLessThanOrEqual(minutes(/^from first/) + 1)
    expect(minutes(/^from first/)).toBe(Math.round(session.cost.wall_clock_s / 60))
  })

  it('counts an edit that was tried again in the outline of prompts, too', async () => {
    const { digest } = await ask<Answered>(`sessions/${encodeURIComponent(retried.uid)}`)
    expect(digest?.markers.edits).toBe(2)
    await open(retried.uid)
    const changes = web.page.locator('.verdict-fact', { hasText: 'Changes' })
    await expect.poll(() => changes.textContent()).toContain('2 files, 2 edits')
    await expect
      .poll(() => web.page.locator('.rail-facts').allTextContents())
      .toEqual([expect.stringMatching(/ · 2 edits · 1 error · /)])
  })

  it('lists the files of its own place before those that lie elsewhere', async () => {
    await open(retried.uid, '?tab=files')
    await expect
      .poll(() => web.page.locator('.file-card summary .path').allTextContents())
      .toEqual(['a.ts', '/home/dev/.notes/names.md'])
  })

  it('says of how many edits the text is not known, in the verdict and beside the files', async () => {
    await open(windows.uid)
    const changes = web.page.locator('.verdict-fact', { hasText: 'Changes' })
    await expect
      .poll(() => changes.textContent())
      .toMatch(/1 file, 2 edits\s*\+1 −1and 1 whose text is not known/)
    await open(windows.uid, '?tab=files')
    await web.page.getByText('and 1 edit whose text is not known, as of a command').waitFor()
  })

  it('finds: marks the words, opens what holds them, keeps the head in view, shows where hits are', async () => {
    const marks = (name: string): Promise<number> =>
      web.page.evaluate(`CSS.highlights.get('${name}')?.size ?? 0`) as Promise<number>
    await transcript(failed.uid)
    await web.page.fill('#find', 'needletail')
    await web.page.keyboard.press('Enter')
    await web.page.getByText('1 of 1').waitFor()
    await expect.poll(() => marks('found-here')).toBeGreaterThan(0)
    const target = web.page.locator('.slot.target')
    // The call was folded, and of its output only the beginning is shown at first.
    await expect.poll(() => target.locator('details:not([open])').count()).toBe(0)
    const inView = (): Promise<boolean> =>
      web.page.evaluate(`(() => {
        const [found] = CSS.highlights.get('found-here') ?? []
        if (!found) return false
        const outer = document.querySelector('.scroller').getBoundingClientRect()
        const mark = found.getBoundingClientRect()
        const head = document.querySelector('.slot.target summary').getBoundingClientRect()
        return mark.top >= outer.top && mark.bottom <= outer.bottom && head.top >= outer.top - 1 && head.bottom <= outer.bottom && outer.bottom <= innerHeight
      })()`) as Promise<boolean>
    await expect.poll(inView).toBe(true)
    await expect.poll(() => web.page.locator('.hit-rail .tick.is-here').count()).toBe(1)
    await web.page.fill('#find', 'needlethought')
    await web.page.keyboard.press('Enter')
    await target.locator('.thought[open]').waitFor()
    await web.page.reload()
    await target.locator('.thought[open]').waitFor()
    expect(params().get('find')).toBe('needlethought')
    await web.page.fill('#find', 'echo')
    await expect.poll(() => web.page.locator('.hit-rail').getAttribute('data-ticks')).toBe('60')
    await expect.poll(() => marks('found')).toBeGreaterThan(2)
  })

  it('keeps folds in the address, and comes back to the place', async () => {
    await transcript(failed.uid)
    await web.page.locator('.call:not([open]) > summary').first().click()
    await expect.poll(() => params().get('folds')).toMatch(/^\d+$/)
    await web.page.reload()
    await web.page.locator('.call[open] .terminal', { hasText: 'line 0' }).waitFor()
    // What stands on top, once all of it is there.
    const top = (): Promise<string> =>
      web.page.evaluate(`(() => {
        if (!document.querySelector('.scroller') || document.querySelector('.step.pending')) return ''
        const { top } = document.querySelector('.scroller').getBoundingClientRect()
        return [...document.querySelectorAll('.slot')].find((slot) => slot.getBoundingClientRect().bottom > top + 1)?.dataset.seq ?? ''
      })()`) as Promise<string>
    // As a reader does it: who scrolls leaves the place that the page holds.
    for (let n = 0; n < 4; n++) await web.page.keyboard.press('PageDown')
    await expect.poll(top).toMatch(/^(?!1$)\d+$/)
    const place = await top()
    // At once: the place is kept although the scrolling has hardly ended.
    await web.page.getByRole('link', { name: 'Cost', exact: true }).click()
    await web.page.getByText('Cost per turn').first().waitFor()
    await web.page.goBack()
    await expect.poll(top).toBe(place)
  })

  it('is read by keys', async () => {
    await transcript(failed.uid)
    await web.page.locator('body').press('PageDown')
    await expect.poll(scrollTop).toBeGreaterThan(100)
    await web.page.keyboard.press('Home')
    await expect.poll(scrollTop).toBe(0)
    await web.page.keyboard.press('Space')
    await expect.poll(scrollTop).toBeGreaterThan(100)
    await web.page.keyboard.press('ArrowUp')
    await web.page.keyboard.press('End')
    await web.page.locator('.slot', { hasText: 'The tests do not pass.' }).waitFor()
    await web.page.keyboard.press('Home')
    await expect.poll(scrollTop).toBe(0)
    const at = async (key: string): Promise<number> => {
      const before = params().get('seq')
      await web.page.keyboard.press(key)
      await expect.poll(() => params().get('seq')).not.toBe(before)
      return Number(params().get('seq'))
    }
    const first = await at('j')
    const second = await at('j')
    expect(second).toBeGreaterThan(first)
    expect(await at('k')).toBe(first)
    const prompt = await at('J')
    await web.page.locator('.slot.target', { hasText: 'And now run the tests.' }).waitFor()
    expect(await at('e')).toBeGreaterThan(prompt)
    await web.page.locator('.slot.target', { hasText: 'AssertionError' }).waitFor()
    expect(await at('K')).toBe(prompt)
  })

  it('lets the reader go from where it stands, however long its bodies take', async () => {
    await open(failed.uid)
    let release = (): void => {}
    const held = new Promise<void>((done) => {
      release = done
    })
    await web.page.route('**/events?*', async (route) => {
      await held
      await route.continue()
    })
    const { seq } = await ask<{ seq: number[] }>(`sessions/${encodeURIComponent(failed.uid)}/outline`)
    const middle = seq[Math.floor(seq.length / 2)] as number
    await open(failed.uid, `?seq=${middle}`)
    const target = web.page.locator('.slot.target')
    const isInView = (): Promise<unknown> =>
      web.page.evaluate(`(() => {
        const box = document.querySelector('.slot.target')?.getBoundingClientRect()
        const outer = document.querySelector('.scroller')?.getBoundingClientRect()
        return box !== undefined && box.bottom > outer.top && box.top < outer.bottom
      })()`)
    await target.locator('.pending').waitFor()
    release()
    await target.locator('.step:not(.pending)').waitFor()
    await expect.poll(isInView).toBe(true)
    await web.page.keyboard.press('Home')
    await expect.poll(scrollTop).toBe(0)
    await web.page.locator('.slot[data-seq="1"] .step:not(.pending)').waitFor()
    expect(await scrollTop()).toBe(0)
    await web.page.unroute('**/events?*')
  })

  it('leads to the sessions beside it by keys, in every tab and while it is still loading', async () => {
    const place = (): string => new URL(web.page.url()).pathname
    await open(failed.uid, '?tab=cost')
    const here = place()
    // Of the next session nothing arrives but who stands beside it.
    let hold = false
    await web.page.route('**/api/sessions/**', (route) =>
      hold && !route.request().url().endsWith('/neighbours') ? undefined : route.continue(),
    )
    hold = true
    await web.page.keyboard.press(']')
    await expect.poll(place).not.toBe(here)
    const next = place()
    await web.page.keyboard.press('[')
    await expect.poll(place).toBe(here)
    // Two keys are two sessions, however long the first takes.
    await web.page.keyboard.press(']')
    await web.page.keyboard.press(']')
    await expect.poll(() => [here, next].includes(place())).toBe(false)
    await web.page.unroute('**/api/sessions/**')
  })

  it('says which events could not be read, and tries again', async () => {
    await web.page.route('**/events?*', (route) =>
      route.fulfill({ status: 500, json: { error: { code: 'IO', message: 'the disk is gone' } } }),
    )
    await open(failed.uid)
    await web.page.getByText(/#1 could not be read: the disk is gone/).waitFor()
    await web.page.unroute('**/events?*')
    await web.page.getByRole('button', { name: 'try again' }).first().click()
    await web.page.locator('.said.prompt').first().waitFor()
  })

  it('shows all changes as code hosts do: relative, together, by prompt, word by word', async () => {
    const asked: string[] = []
    web.page.on('request', (request) => asked.push(request.url()))
    await open(failed.uid, '?tab=files')
    const cards = web.page.locator('.file-card')
    await expect
      .poll(() => cards.locator('summary .path').allTextContents())
      .toEqual(['README.md', 'src/cart.ts'])
    const cart = cards.nth(1)
    // Two edits, of one file by two names, are one change.
    await expect
      .poll(() => cart.locator('.line.added').allTextContents())
      .toEqual([expect.stringContaining('return items.count')])
    expect(await cart.locator('.line.removed .word').allTextContents()).toEqual(['length'])
    // A page of files, or one of them: never all texts at once.
    const unbounded = asked.filter((url) => url.includes('/changes') && !/[?&](?:limit|file)=/.test(url))
    expect([asked.some((url) => url.includes('file=')), unbounded]).toEqual([true, []])
    const first = await ask<ChangeSummary>(`sessions/${encodeURIComponent(failed.uid)}/changes?limit=1`)
    expect([first.files.length, first.file_count]).toEqual([1, 2])
    expect(await cart.getByRole('link', { name: /open in the editor/ }).getAttribute('href')).toMatch(
      /^vscode:\/\/file\/home\/dev\/shop\/src\/cart\.ts:\d+$/,
    )
    await cards.nth(0).locator('summary').click()
    await expect.poll(() => params().get('opened')).toBe('README.md')
    await web.page.getByLabel('changes of').selectOption({ index: 2 })
    await expect.poll(() => cards.locator('summary .path').allTextContents()).toEqual(['README.md'])
    await web.page.goBack()
    await expect
      .poll(() => cards.locator('summary .path').allTextContents())
      .toEqual(['README.md', 'src/cart.ts'])
    await web.page.locator('.file-list li a').nth(1).click()
    await web.page.getByLabel('all edits up to here').check()
    await expect.poll(() => params().get('together')).toBe('1')
    await open(windows.uid, '?tab=files')
    await expect.poll(() => cards.locator('summary .path').allTextContents()).toEqual(['src/a.ts'])
    await expect
      .poll(() => cards.locator('.line.added').allTextContents())
      .toEqual([expect.stringContaining('const c')])
  })

  it('traces: ticks, names of commands, cost of a step, errors only, zoom in the address', async () => {
    await open(failed.uid, '?tab=timeline')
    const longest = web.page.getByRole('table', { name: 'Longest steps' })
    await expect.poll(() => longest.textContent()).toMatch(/Bash: echo \d+/)
    expect(await longest.textContent()).not.toContain('waiting')
    await expect.poll(() => longest.textContent()).toMatch(/\$0\.\d+/)
    await expect.poll(() => web.page.locator('.ticks li').count()).toBeGreaterThan(3)
    await web.page.locator('.context-line polyline').waitFor()
    await web.page.getByLabel('errors only').check()
    await expect.poll(() => longest.locator('tbody tr').count()).toBe(1)
    await expect.poll(() => longest.textContent()).toContain(`Bash: ${TEST}, failed`)
    await web.page.getByLabel('zoom in').click()
    await expect.poll(() => params().get('zoom')).toMatch(/^\d+-\d+$/)
    const span = await web.page.locator('.zoom .muted').textContent()
    await web.page.reload()
    await expect.poll(() => web.page.locator('.zoom .muted').textContent()).toBe(span)
  })

  it('compares cost, tokens and outcomes with their reasons', async () => {
    await web.goto(`/compare?a=${encodeURIComponent(failed.uid)}&b=${encodeURIComponent(mended.uid)}`)
    // One table, so that all figures stand below each other.
    const table = web.page.getByRole('table', { name: 'Figures of both' })
    await table.waitFor()
    const rows = await table.locator('tbody tr').allTextContents()
    expect(rows.slice(0, 3)).toEqual([
      expect.stringMatching(/^cost\$/),
      expect.stringMatching(/^tokens\d/),
      expect.stringMatching(/^wall clock\d/),
    ])
    const sides = web.page.locator('.side')
    await expect
      .poll(() => sides.allTextContents())
      .toEqual([expect.stringMatching(/failedthe last tests fail/), expect.stringMatching(/success/)])
  })

  it('follows the end, and marks what is new since it was last read', async () => {
    await transcript(failed.uid)
    await web.page.locator('.scroller').evaluate((scroller) => scroller.scrollTo(0, 50))
    failed.say('One more thing.').say('And another.')
    await memory.sweep()
    const fresh = web.page.locator('button.fresh')
    await expect.poll(() => fresh.textContent()).toMatch(/^2 new/)
    await fresh.click()
    await web.page.locator('.slot', { hasText: 'And another.' }).waitFor()
    await fresh.waitFor({ state: 'detached' })
    failed.say('The very last thing.')
    await memory.sweep()
    await web.page.locator('.slot', { hasText: 'The very last thing.' }).waitFor()
    // Seen to the end; what comes while nobody looks is marked.
    await expect
      .poll(() =>
        web.page.evaluate(`JSON.parse(localStorage.getItem('recollect.seen') ?? '{}')['${failed.uid}']`),
      )
      .toBeGreaterThan(100)
    await web.goto('/health')
    failed.say('Said while nobody looked.')
    await memory.sweep()
    await transcript(failed.uid)
    await web.page.keyboard.press('End')
    await web.page.locator('.slot', { hasText: 'new since you last looked' }).waitFor()
  })

  it('is acted on: star, tag, note, name, decision, commands to copy, hand-off, export', async () => {
    await open(mended.uid)
    await web.page.getByRole('button', { name: 'star' }).click()
    await web.page.getByRole('button', { name: 'starred' }).waitFor()
    const write = async (act: string, text: string): Promise<void> => {
      await web.page.locator('.menu > summary').click()
      await web.page.locator('.menu').getByRole('button', { name: act, exact: true }).click()
      await web.page.locator('#writing').fill(text)
      await web.page.getByRole('button', { name: 'Save' }).click()
      await web.page.locator('.act-window').waitFor({ state: 'detached' })
    }
    await write('tag', 'cart')
    await web.page.locator('.labels .chip', { hasText: 'cart' }).waitFor()
    await write('note', 'Worth <b>reading</b> again.')
    await web.page.locator('.note-line', { hasText: 'Worth <b>reading</b> again.' }).waitFor()
    await write('rename', 'One item too many')
    await expect.poll(() => web.heading()).toBe('One item too many')
    await write('decide', 'Counts are lengths.')
    const { session } = await ask<Answered>(`sessions/${encodeURIComponent(mended.uid)}`)
    expect(session.decisions.map((one) => one.text)).toEqual(['Counts are lengths.'])
    await web.page.getByRole('button', { name: 'copy resume command' }).click()
    await expect
      .poll(() => web.page.evaluate('navigator.clipboard.readText()'))
      .toMatch(/^cd \/home\/dev\/shop && claude /)
    await web.page.locator('.slot').first().hover()
    await web.page.locator('.slot').first().getByRole('button', { name: 'copy text' }).click()
    await expect
      .poll(() => web.page.evaluate('navigator.clipboard.readText()'))
      .toContain('one item too many. Mend it.')
    await web.page.goto(`${web.page.url().split('?')[0]}?act=handoff`)
    await web.page.locator('.briefing', { hasText: 'Handed off from session' }).waitFor()
    const exported = await web.page.evaluate(
      `fetch('/api/sessions/${encodeURIComponent(mended.uid)}/export?format=html').then(async (answer) => [answer.headers.get('content-type'), answer.headers.get('content-disposition'), (await answer.text()).length > 500])`,
    )
    expect(exported).toEqual(['application/octet-stream', expect.stringMatching(/^attachment/), true])
  })

  it('is forgotten only after the plan was shown', async () => {
    await open(windows.uid, '?act=forget')
    const plan = web.page.locator('.act-window')
    await plan.getByText(/\d+ events, .* of raw/).waitFor()
    await plan.getByText('own file is not touched').waitFor()
    await plan.getByRole('button', { name: 'Forget it' }).click()
    await web.page.waitForURL('**/sessions')
  })
})
