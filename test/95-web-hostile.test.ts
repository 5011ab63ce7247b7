// A transcript full of attacks: whatever stands in it is shown as text. No script runs, nothing is asked of another
// origin, and the browser has nothing to refuse, because nothing was tried.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { BrowserSession, describeInBrowser } from './setup/browser.ts'
import { TestMemory } from './setup/memory.ts'

const OUT = 'https://evil.example'

/** The well-known kinds: tags, events, links, drawings, styles, frames, escapes, encodings, terminals, prototypes. */
const PAYLOADS = [
  '<script>alert(1)</script>',
  '<ScRiPt>alert(1)</ScRiPt>',
  '<script src="https://evil.example/x.js"></script>',
  '<img src=x onerror=alert(1)>',
  '<img src="https://evil.example/pixel.png">',
  '<image src=x onerror=alert(1)>',
  '<svg onload=alert(1)>',
  '<svg><script>alert(1)</script></svg>',
  '<svg><animate onbegin=alert(1) attributeName=x dur=1s>',
  '<svg><use href="data:image/svg+xml;base64,PHN2Zy8+#x"/></svg>',
  '<svg><a xlink:href="javascript:alert(1)"><text y=20>x</text></a></svg>',
  '<math><mtext><mglyph><style><img src=x onerror=alert(1)></style></mglyph></mtext></math>',
  '<iframe src="javascript:alert(1)"></iframe>',
  '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  '<object data="javascript:alert(1)"></object>',
  '<embed src="javascript:alert(1)">',
  '<body onload=alert(1)>',
  '<input autofocus onfocus=alert(1)>',
  '<select autofocus onfocus=alert(1)>',
  '<textarea autofocus onfocus=alert(1)>',
  '<details open ontoggle=alert(1)>',
  '<video><source onerror=alert(1)></video>',
  '<audio src=x onerror=alert(1)>',
  '<marquee onstart=alert(1)>',
  '<form action="https://evil.example"><button>go</button></form>',
  '<base href="https://evil.example/">',
  '<meta http-equiv="refresh" content="0;url=https://evil.example">',
  '<link rel="stylesheet" href="https://evil.example/x.css">',
  '<style>@import "https://evil.example/x.css";</style>',
  '<div style="background:url(https://evil.example/x.png)">x</div>',
  '<template><script>alert(1)</script></template>',
  '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  '"><script>alert(1)</script>',
  '\'"--></style></script><script>alert(1)</script>',
  '</pre></code><script>alert(1)</script>',
  '<!--<img src="--><img src=x onerror=alert(1)//">',
  '<![CDATA[<script>alert(1)</script>]]>',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
  '&#60;script&#62;alert(1)&#60;/script&#62;',
  '\\u003cscript\\u003ealert(1)\\u003c/script\\u003e',
  '<scr\u0000ipt>alert(1)</scr\u0000ipt>',
  '＜script＞alert(1)＜/script＞',
  '[click](javascript:alert(1))',
  '[click](JaVaScRiPt:alert(1))',
  '[click](java\nscript:alert(1))',
  '[click](&#106;avascript:alert(1))',
  '[click](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)',
  '[click](vbscript:msgbox(1))',
  '[click](blob:https://evil.example/1)',
  '[click](file:///etc/passwd)',
  '![x](https://evil.example/pixel.png)',
  '![x](javascript:alert(1))',
  '![x](data:image/svg+xml,<svg onload=alert(1)>)',
  '<javascript:alert(1)>',
  '[x]: javascript:alert(1)\n\n[x]',
  '```html\n<script>alert(1)</script>\n```',
  '`<img src=x onerror=alert(1)>`',
  '| <img src=x onerror=alert(1)> | b |\n|---|---|\n| <script>alert(1)</script> | c |',
  '\u001b]8;;javascript:alert(1)\u0007click\u001b]8;;\u0007',
  '\u001b[31m<img src=x onerror=alert(1)>\u001b[0m',
  '\u001b]0;title\u0007<script>alert(1)</script>',
  '{{constructor.constructor("alert(1)")()}}',
  '$\u007balert(1)}',
  '__proto__[onerror]=alert(1)',
  '\u202Etxt.exe\u202C',
  '[REDACTED:<img src=x onerror=alert(1)>:deadbeef]',
]

const ID = 'cccccccc-0000-4000-8000-000000000001'
let base: string
let memory: TestMemory
let web: BrowserSession

function hostileLines(): string[] {
  let number = 0
  const line = (type: string, content: unknown, extra: Record<string, unknown> = {}): string => {
    number++
    return JSON.stringify({
      parentUuid: number > 1 ? `h${number - 1}` : null,
      isSidechain: false,
      cwd: '/home/dev/<img src=x onerror=alert(1)>',
      gitBranch: '<script>alert(1)</script>',
      sessionId: ID,
      version: '2.1.325',
      type,
      uuid: `h${number}`,
      timestamp: new Date(Date.parse('2026-11-10T10:00:00Z') + number * 1000).toISOString(),
      message: { role: type, content, ...extra },
    })
  }
  const picture = {
    type: 'image',
    source: { type: 'base64', media_type: 'image/svg+xml', data: 'PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+' },
  }
  return PAYLOADS.flatMap((text, i) => {
    const model = {
      id: `msg_h${i}`,
      model: '<img src=x onerror=alert(1)>',
      usage: { input_tokens: 5, output_tokens: 5 },
    }
    const [shell, edit] = [`toolu_s${i}`, `toolu_e${i}`]
    const change = { file_path: `/tmp/${text}`, old_string: text, new_string: `${text}${text}` }
    return [
      line('user', text),
      line(
        'assistant',
        [
          { type: 'thinking', thinking: text },
          { type: 'text', text },
        ],
        model,
      ),
      line(
        'assistant',
        [{ type: 'tool_use', id: shell, name: i % 2 ? 'Bash' : text, input: { command: text } }],
        model,
      ),
      line('user', [
        {
          type: 'tool_result',
          tool_use_id: shell,
          content: [{ type: 'text', text }, picture],
          is_error: i % 3 === 0,
        },
      ]),
      line('assistant', [{ type: 'tool_use', id: edit, name: 'Edit', input: change }], model),
      line('user', [{ type: 'tool_result', tool_use_id: edit, content: text }]),
    ]
  })
}

describeInBrowser('a transcript full of attacks', () => {
  beforeAll(async () => {
    base = mkdtempSync(join(tmpdir(), 'recollect-hostile-'))
    const root = join(base, '.claude', 'projects')
    mkdirSync(join(root, '-home-dev-hostile'), { recursive: true })
    writeFileSync(join(root, '-home-dev-hostile', `${ID}.jsonl`), `${hostileLines().join('\n')}\n`)
    memory = new TestMemory({ claude: [root] })
    await memory.sweep()
    // Tall: what scrolls is read in a tenth of the steps.
    web = await BrowserSession.open(memory.home, { viewport: { width: 1280, height: 9000 } })
    await web.page.addInitScript(
      'window.alert = () => { window.wasRun = true }; window.msgbox = window.alert',
    )
  })

  afterAll(async () => {
    await web?.close()
    memory?.remove()
    rmSync(base, { recursive: true, force: true })
  })

  /** Goes through the whole of what scrolls, and opens whatever is folded on the way. */
  async function readAll(): Promise<string> {
    let text = ''
    for (let last = -1; ; ) {
      await web.settled()
      await web.page.evaluate('document.querySelectorAll("details").forEach(d => { d.open = true })')
      // What was opened is drawn, and may ask for more.
      await web.page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))')
      await web.settled()
      text += await web.page.locator('main').textContent()
      const at = (await web.page.evaluate(
        '(el => { if (!el) return -1; el.scrollTop += el.clientHeight * 0.8; return el.scrollTop })(document.querySelector(".scroller"))',
      )) as number
      if (at === last || at === -1) return text
      last = at
    }
  }

  async function expectNothing(): Promise<void> {
    expect(await web.page.evaluate('window.wasRun')).toBeUndefined()
    expect(web.seen).toEqual({ outside: [], violations: [], errors: [], dialogs: [] })
    // No element of a kind that only a transcript could have brought in.
    const foreign =
      'main :is(iframe, object, embed, script, style, form:not([method=dialog]), video, audio, base, meta, link, marquee, math)'
    expect(await web.page.locator(foreign).count()).toBe(0)
    const links = (await web.page.evaluate(
      '[...document.querySelectorAll("main a")].map(a => new URL(a.getAttribute("href"), location).href)',
    )) as string[]
    // The last is ours: a file in the editor, of which only the path is the transcript's.
    const allowed = /^(?:https?:|mailto:|vscode:\/\/file\/)/
    expect(links.filter((href) => !allowed.test(href))).toEqual([])
    expect(await web.page.locator('main img').count()).toBe(0)
  }

  it('is shown as text', async () => {
    await web.goto(`/s/claude:${ID}`)
    await web.page.locator('.said.prompt').first().waitFor()
    const text = await readAll()
    for (const words of [
      '<script>alert(1)</script>',
      '<img src=x onerror=alert(1)>',
      '<svg onload=alert(1)>',
      '<base href=',
      // Of the last ones: the end was reached.
      '__proto__[onerror]=alert(1)',
    ])
      expect(text).toContain(words)
    await expectNothing()
  })

  it.each(['timeline', 'files', 'context', 'cost', 'lineage', 'signals', 'raw'])(
    'stays text as %s',
    async (tab) => {
      await web.goto(`/s/claude:${ID}?tab=${tab}`)
      await web.page.locator('.card, .file-card, .lineage, .files, .empty').first().waitFor()
      await readAll()
      await expectNothing()
    },
  )

  it.each([
    '/',
    '/sessions',
    '/search?q=alert',
    '/usage?group=model',
    '/patterns',
    '/health',
    `/compare?a=claude:${ID}&b=claude:${ID}`,
  ])('stays text at %s', async (path) => {
    await web.goto(path)
    await web.page.locator('.card, .row-title, .hits, .empty').first().waitFor()
    await readAll()
    await expectNothing()
  })

  it('cannot be smuggled in through the address', async () => {
    for (const text of PAYLOADS.slice(0, 4)) {
      const word = encodeURIComponent(text)
      for (const path of [
        `/search?q=${word}`,
        `/sessions?q=${word}&flavor=${word}`,
        `/s/${word}`,
        `/${word}`,
      ]) {
        await web.goto(path)
        await web.page.locator('main > *').first().waitFor()
        await web.settled()
        await expectNothing()
      }
    }
  })

  it('would be stopped by the browser if something were tried', async () => {
    const tried = await web.page.evaluate(
      `(() => { try { document.body.innerHTML = '<img src=${OUT}>'; return 'done' } catch (error) { return error.name } })()`,
    )
    expect(tried).toBe('TypeError')
    await expect.poll(() => web.seen.violations.length).toBeGreaterThan(0)
    expect(web.seen.outside).toEqual([])
  })
})
