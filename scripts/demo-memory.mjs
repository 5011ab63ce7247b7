// A memory to show: the sessions of test/fixtures (written by the real agents against a mock model), with their dates
// spread over months, their sizes grown and their repositories told apart, and one staged session that has everything in
// it. For pictures only; nothing of the program knows it.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '..')
const CLI = join(ROOT, 'dist', 'cli.cjs')
const DATA = { claude: '.claude/projects', codex: '.codex', grok: '.grok/sessions' }
const REPOS = ['atlas', 'billing', 'webshop', 'infra', 'notes']
const DAY = 86_400_000
const STRETCH = 60

function randomFrom(seed) {
  let state = seed >>> 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return state / 2 ** 32
  }
}

/** Makes the memory; returns its directory and what removes it. */
export function demoMemory(now = Date.now()) {
  const base = mkdtempSync(join(tmpdir(), 'recollect-demo-'))
  const home = join(base, 'memory')
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const random = randomFrom(20_261_115)
  const roots = {}
  // Of the agents that the pictures show.
  const archives = readdirSync(join(ROOT, 'test/fixtures/agents')).filter(
    (one) => DATA[/^[a-z]+/.exec(one)?.[0]],
  )
  for (const archive of archives) {
    execFileSync('tar', ['-xzf', join(ROOT, 'test/fixtures/agents', archive), '-C', base])
    const client = archive.replace('.tgz', '')
    const flavor = client.split('-')[0]
    for (const scenario of readdirSync(join(base, client))) {
      const directory = join(base, client, scenario)
      const repo = REPOS[Math.floor(random() ** 1.6 * REPOS.length)]
      spread(directory, `${client}${scenario}`, dayFor(random, now), repo, random)
      roots[flavor] = [...(roots[flavor] ?? []), join(directory, DATA[flavor])]
    }
  }
  const staged = join(base, 'staged', DATA.claude)
  stage(join(staged, '-home-dev-atlas', `${STAGED}.jsonl`), now)
  roots.claude.push(staged)
  const toml = Object.entries(roots).map(
    ([flavor, list]) => `[sources.${flavor}]\nroots = ${JSON.stringify(list)}\n`,
  )
  writeFileSync(join(home, 'config.toml'), toml.join(''))
  const env = { PATH: process.env.PATH, HOME: join(base, 'nobody'), RECOLLECT_HOME: home }
  try {
    execFileSync(process.execPath, [CLI, 'sweep'], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  } catch (error) {
    if (error.status !== 4) throw error
  }
  // Only now, so that there is something left to evict: a plan to show.
  writeFileSync(
    join(home, 'config.toml'),
    `[session_memory.retention]\nraw_soft_cap_bytes = "4MiB"\nraw_hard_cap_bytes = "6MiB"\n${toml.join('')}`,
  )
  execFileSync(process.execPath, [CLI, 'pin', `claude:${STAGED}`], { env, stdio: 'ignore' })
  return {
    home,
    env,
    staged: `claude:${STAGED}`,
    remove: () => rmSync(base, { recursive: true, force: true }),
  }
}

/** Working days mostly, and more of late. */
function dayFor(random, now) {
  for (;;) {
    const at = now - random() ** 1.8 * 170 * DAY
    const weekday = new Date(at).getDay()
    if ((weekday !== 0 && weekday !== 6) || random() < 0.15) {
      const date = new Date(at)
      date.setHours(8 + Math.floor(random() * 11), Math.floor(random() * 60), 0, 0)
      return Math.min(date.getTime(), now - 3_600_000)
    }
  }
}

const ISO = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g
const EPOCH_MS = /\b17947\d{8}\b/g
const EPOCH_S = /\b17947\d{5}\b/g
const TOKENS = /"(\w*[tT]okens)":(\d+)/g

/** Also gives responses ids of their own: the mock model counted from one each time, and what came twice is counted once. */
function spread(directory, name, startAt, repo, random) {
  const files = readdirSync(directory, { recursive: true })
    .map((name) => join(directory, name))
    .filter((path) => statSync(path).isFile() && /\.(jsonl|json)$/.test(path))
  const texts = new Map(files.map((path) => [path, readFileSync(path, 'utf8')]))
  const times = [...texts.values()].flatMap((text) => (text.match(ISO) ?? []).map((at) => Date.parse(at)))
  const first = Math.min(...times.filter((at) => at > Date.parse('2026-11-14')))
  const moved = (at) => Math.round(startAt + (at - first) * STRETCH)
  const factor = 4 + Math.floor(random() ** 2 * 60)
  for (const [path, text] of texts) {
    const changed = text
      .replace(ISO, (at) => new Date(moved(Date.parse(at))).toISOString())
      .replace(EPOCH_MS, (at) => String(moved(Number(at))))
      .replace(EPOCH_S, (at) => String(Math.round(moved(Number(at) * 1000) / 1000)))
      .replace(
        TOKENS,
        (_, name, count) => `"${name}":${Number(count) * (Number(count) > 20_000 ? 1 : factor)}`,
      )
      .replace(/"id":"(msg|resp)_(mock\d+)/g, `"id":"$1_${name.replace(/\W/g, '')}_$2`)
      .replaceAll('/home/dev/proj', `/home/dev/${repo}`)
    if (changed !== text) writeFileSync(path, changed)
  }
}

const STAGED = '7d1f0c52-93a4-4c1e-8f7b-2f6a3f0f5d11'
const BEFORE = `export function retryDelay(attempt: number): number {
  return attempt * 1000
}
`
const AFTER = `/** Doubles with each attempt, up to half a minute, with jitter so that clients spread out. */
export function retryDelay(attempt: number, random = Math.random): number {
  const ceiling = Math.min(30_000, 250 * 2 ** attempt)
  return ceiling / 2 + random() * (ceiling / 2)
}
`

const AGENT = 'a41c7d90be52f3a18'
const REPORT =
  'Two places: src/queue/poll.ts:31 and src/sync/lock.ts:77. The first is a heartbeat and meant to be regular.'

/** What the sub-agent did, in the file it has beside its session. */
function stageAgent(path, startAt, call) {
  const lines = []
  const put = (type, content, seconds, extra = {}) => {
    const number = lines.length + 1
    lines.push(
      JSON.stringify({
        parentUuid: number > 1 ? `a${number - 1}` : null,
        isSidechain: true,
        agentId: AGENT,
        userType: 'external',
        cwd: '/home/dev/atlas',
        gitBranch: 'fix/retry-storm',
        sessionId: STAGED,
        version: '2.1.325',
        type,
        uuid: `a${number}`,
        timestamp: new Date(startAt + seconds * 1000).toISOString(),
        message: { role: type, content, ...extra },
      }),
    )
  }
  const model = (number) => ({
    id: `msg_a${number}`,
    model: 'claude-opus-5-5',
    usage: { input_tokens: 700, cache_read_input_tokens: 9000, output_tokens: 240 },
  })
  put('user', 'Find code that waits a fixed time before it tries again.', 0)
  const use = { type: 'tool_use', id: 'toolu_a1', name: 'Grep', input: { pattern: 'sleep\\(', path: 'src' } }
  put('assistant', [use], 12, model(1))
  const found = 'src/queue/poll.ts:31: await sleep(500)\nsrc/sync/lock.ts:77: await sleep(500)'
  put('user', [{ type: 'tool_result', tool_use_id: 'toolu_a1', content: found }], 14)
  put('assistant', [{ type: 'text', text: REPORT }], 48, model(2))
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${lines.join('\n')}\n`)
  const meta = { agentType: 'Explore', description: 'Look for other waits', toolUseId: call, spawnDepth: 1 }
  writeFileSync(path.replace('.jsonl', '.meta.json'), JSON.stringify(meta))
}

/** A bug found, mended, tested and committed, with a sub-agent on the way. */
function stage(path, now) {
  const lines = []
  let at = now - 52 * 60_000
  let context = 18_000
  const put = (type, content, seconds, extra = {}, fields = {}) => {
    at += seconds * 1000
    const number = lines.length + 1
    lines.push(
      JSON.stringify({
        parentUuid: number > 1 ? `s${number - 1}` : null,
        isSidechain: false,
        userType: 'external',
        cwd: '/home/dev/atlas',
        gitBranch: 'fix/retry-storm',
        sessionId: STAGED,
        version: '2.1.325',
        type,
        uuid: `s${number}`,
        timestamp: new Date(at).toISOString(),
        message: { role: type, content, ...extra },
        ...fields,
      }),
    )
  }
  const say = (text, seconds) => put('user', text, seconds)
  const answer = (content, seconds, fields) => {
    context += 2600
    const usage = {
      input_tokens: 900,
      cache_read_input_tokens: context,
      cache_creation_input_tokens: 1700,
      output_tokens: 620,
    }
    put(
      'assistant',
      content,
      seconds,
      { id: `msg_s${lines.length}`, model: 'claude-opus-5-5', usage },
      fields,
    )
  }
  let calls = 0
  const call = (name, input, output, seconds, isError = false, extra = {}) => {
    const id = `toolu_s${++calls}`
    answer([{ type: 'tool_use', id, name, input }], 9)
    put(
      'user',
      [{ type: 'tool_result', tool_use_id: id, content: output, is_error: isError }],
      seconds,
      {},
      extra,
    )
  }
  say(
    'Customers report a retry storm after the gateway restarts: every client comes back in the same second. Find out why and mend it. Keep the public signature.',
    1,
  )
  answer(
    [
      {
        type: 'thinking',
        thinking:
          'The delays are probably linear and without jitter. I should look at the client first, then at the tests that cover it.',
      },
      {
        type: 'text',
        text: 'I will look at how the client waits between attempts, then at what the tests say about it.',
      },
    ],
    14,
  )
  call(
    'Grep',
    { pattern: 'retryDelay', path: 'src' },
    'src/net/retry.ts:1\nsrc/net/client.ts:48\ntest/retry.test.ts:5',
    1,
  )
  call('Read', { file_path: '/home/dev/atlas/src/net/retry.ts' }, BEFORE, 1)
  call(
    'Bash',
    { command: 'npm test -- retry', description: 'Run the tests of the retry module' },
    '\u001b[1m RUN \u001b[22m retry\n \u001b[32m✓\u001b[39m waits longer each time\n \u001b[31m✗\u001b[39m clients do not come back together\n   AssertionError: 200 of 200 clients came back within 50 ms\n\n Tests  \u001b[31m1 failed\u001b[39m | \u001b[32m1 passed\u001b[39m',
    8,
    true,
  )
  answer(
    [
      {
        type: 'text',
        text: 'Found it:\n\n1. `retryDelay` grows **linearly**, so a restart of a minute is met by the same few delays.\n2. There is **no jitter**: clients that failed together come back together.\n\nI will use exponential backoff with equal jitter, as the tests ask.',
      },
    ],
    12,
  )
  call(
    'Edit',
    { file_path: '/home/dev/atlas/src/net/retry.ts', old_string: BEFORE, new_string: AFTER },
    'The file has been updated.',
    1,
    false,
    {
      toolUseResult: {
        filePath: '/home/dev/atlas/src/net/retry.ts',
        oldString: BEFORE,
        newString: AFTER,
        originalFile: BEFORE,
      },
    },
  )
  call(
    'Bash',
    { command: 'npm test -- retry', description: 'Run the tests again' },
    '\u001b[1m RUN \u001b[22m retry\n \u001b[32m✓\u001b[39m waits longer each time\n \u001b[32m✓\u001b[39m clients do not come back together\n\n Tests  \u001b[32m2 passed\u001b[39m',
    7,
  )
  say('Good. Is anything else waiting in the same way? And commit it.', 420)
  call(
    'Task',
    {
      description: 'Look for other waits',
      prompt: 'Find code that waits a fixed time before it tries again.',
      subagent_type: 'Explore',
    },
    [{ type: 'text', text: REPORT }],
    64,
    false,
    { toolUseResult: { status: 'completed', agentId: AGENT, content: [{ type: 'text', text: REPORT }] } },
  )
  stageAgent(
    join(path.replace('.jsonl', ''), 'subagents', `agent-${AGENT}.jsonl`),
    at - 62_000,
    `toolu_s${calls}`,
  )
  call(
    'Edit',
    {
      file_path: '/home/dev/atlas/src/sync/lock.ts',
      old_string: '    await sleep(500)\n',
      new_string: '    await sleep(retryDelay(attempt))\n',
    },
    'The file has been updated.',
    1,
  )
  call(
    'Bash',
    { command: 'git commit -am "Spread retries: exponential backoff with jitter"', description: 'Commit' },
    '[fix/retry-storm 4c1f9ab] Spread retries: exponential backoff with jitter\n 2 files changed, 6 insertions(+), 3 deletions(-)',
    2,
  )
  answer(
    [
      {
        type: 'text',
        text: 'Done, as `4c1f9ab`:\n\n| file | change |\n|---|---|\n| `src/net/retry.ts` | exponential backoff with jitter |\n| `src/sync/lock.ts` | uses it instead of a fixed half second |\n\n`src/queue/poll.ts` is a heartbeat and stays regular.',
      },
    ],
    11,
  )
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${lines.join('\n')}\n`)
}
