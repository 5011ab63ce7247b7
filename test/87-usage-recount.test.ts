// Token totals against a second account of the same files. The three counters below were written from the description
// of each format (docs/usage.md, "What is counted") and share nothing with the adapters.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { TimeZone } from '../src/query/timezone.ts'
import { usageReport } from '../src/query/usage.ts'
import { readOverrides } from '../src/usage/overrides.ts'
import { loadPrices } from '../src/usage/prices.ts'
import { filesBelow } from './setup/collect.ts'
import { CORPORA } from './setup/corpora.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { sweptMemory } from './setup/swept.ts'

interface Totals {
  input: number
  cacheRead: number
  cacheWrite: number
  output: number
  reasoning: number
}
type Counts = Record<string, number | undefined>

interface ClaudeLine {
  data?: { message?: ClaudeLine }
  type?: string
  uuid?: string
  requestId?: string
  message?: {
    id?: string
    model?: string
    usage?: Counts & { cache_creation?: Counts; output_tokens_details?: Counts }
  }
}
interface CodexLine {
  type?: string
  payload?: {
    type?: string
    id?: string
    response_id?: string
    usage?: Counts
    info?: { total_token_usage?: Counts; last_token_usage?: Counts } | null
  }
}
interface GrokLine {
  params?: { update?: { sessionUpdate?: string; prompt_id?: string; usage?: Record<string, number> } }
}

const nothing = (): Totals => ({ input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 })

function add(all: Iterable<Totals>): Totals {
  const sum = nothing()
  for (const one of all) for (const name of Object.keys(sum) as (keyof Totals)[]) sum[name] += one[name]
  return sum
}

/** Whole JSON objects, one a line; whatever is not is nobody's tokens. */
function linesOf<Line>(path: string): Line[] {
  const found: Line[] = []
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    try {
      const value: unknown = JSON.parse(line)
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) found.push(value as Line)
    } catch {
      // A torn line.
    }
  }
  return found
}

/** Messages API counts are disjoint. One response stands on several lines and in several files: greatest output wins. */
function countClaude(directories: string[]): Totals {
  const best = new Map<string | undefined, Totals>()
  for (const path of directories.flatMap(filesBelow)) {
    if (!path.endsWith('.jsonl')) continue
    for (const line of linesOf<ClaudeLine>(path)) {
      // A sub-agent whose own file is lost has its messages inside its parent's progress.
      const { type, uuid, requestId, message } = (line.type === 'progress' && line.data?.message) || line
      if (type !== 'assistant' || !message?.usage || message.model === '<synthetic>') continue
      const { usage } = message
      const written = usage.cache_creation ?? {}
      const one: Totals = {
        input: usage['input_tokens'] ?? 0,
        cacheRead: usage['cache_read_input_tokens'] ?? 0,
        cacheWrite: Math.max(
          usage['cache_creation_input_tokens'] ?? 0,
          (written['ephemeral_5m_input_tokens'] ?? 0) + (written['ephemeral_1h_input_tokens'] ?? 0),
        ),
        output: usage['output_tokens'] ?? 0,
        reasoning: usage.output_tokens_details?.['thinking_tokens'] ?? 0,
      }
      const key = message.id ?? requestId ?? uuid
      const known = best.get(key)
      if (!known || one.output > known.output) best.set(key, one)
    }
  }
  return add(best.values())
}

/** Cached input is inside the input. */
function codexTotals(usage: Counts): Totals {
  const cacheRead = usage['cached_input_tokens'] ?? 0
  const cacheWrite = usage['cache_write_input_tokens'] ?? 0
  return {
    input: (usage['input_tokens'] ?? 0) - cacheRead - cacheWrite,
    cacheRead,
    cacheWrite,
    output: usage['output_tokens'] ?? 0,
    reasoning: usage['reasoning_output_tokens'] ?? 0,
  }
}

/** One record per response where the version writes them; else a response wherever the running total moved. */
function countCodex(directories: string[]): Totals {
  const responses = new Map<string, Totals>()
  const threads = new Map<string, Map<string, Totals>>()
  const copies: { of: string[]; counts: Map<string, Totals> }[] = []
  for (const path of directories.flatMap(filesBelow)) {
    if (!/rollout-[^/]*\.jsonl$/.test(path)) continue
    const lines = linesOf<CodexLine>(path)
    const records = lines.flatMap(({ payload }) =>
      payload?.response_id && payload.usage ? [[payload.response_id, payload.usage] as const] : [],
    )
    for (const [id, usage] of records) responses.set(id, codexTotals(usage))
    if (records.length > 0) continue
    const counts = new Map<string, Totals>()
    let previous = ''
    for (const { payload } of lines) {
      const last = payload?.info?.last_token_usage
      if (payload?.type !== 'token_count' || !last) continue
      const total = JSON.stringify(payload.info?.total_token_usage)
      if (total !== previous && (last['input_tokens'] || last['output_tokens']))
        counts.set(`${total} ${JSON.stringify(last)}`, codexTotals(last))
      previous = total
    }
    const ids = new Set(
      lines.flatMap(({ type, payload }) => (type === 'session_meta' && payload?.id ? [payload.id] : [])),
    )
    const [own = path, ...of] = ids
    threads.set(own, counts)
    copies.push({ of, counts })
  }
  // A second header names the thread whose lines were copied in: what that thread has counted is counted.
  for (const { of, counts } of copies)
    for (const id of of) for (const key of threads.get(id)?.keys() ?? []) counts.delete(key)
  return add([...responses.values(), ...[...threads.values()].flatMap((counts) => [...counts.values()])])
}

/** Cached input is inside the input. One figure per prompt, sub-agents included: so their own sessions add nothing. */
function countGrok(directories: string[]): Totals {
  const prompts = new Map<string | undefined, Totals>()
  for (const path of directories.flatMap(filesBelow)) {
    if (basename(path) !== 'updates.jsonl') continue
    const summary = join(dirname(path), 'summary.json')
    if (existsSync(summary) && JSON.parse(readFileSync(summary, 'utf8')).session_kind === 'subagent') continue
    for (const { params } of linesOf<GrokLine>(path)) {
      const { sessionUpdate, prompt_id, usage } = params?.update ?? {}
      if (sessionUpdate !== 'turn_completed' || !usage) continue
      const cacheRead = usage['cachedReadTokens'] ?? 0
      const cacheWrite = usage['cacheCreationTokens'] ?? 0
      prompts.set(prompt_id, {
        input: (usage['inputTokens'] ?? 0) - cacheRead - cacheWrite,
        cacheRead,
        cacheWrite,
        output: usage['outputTokens'] ?? 0,
        reasoning: usage['reasoningTokens'] ?? 0,
      })
    }
  }
  return add(prompts.values())
}

const COUNT: Record<string, (directories: string[]) => Totals> = {
  claude: countClaude,
  codex: countCodex,
  grok: countGrok,
}

async function ours(flavor: string, roots: string[]): Promise<Totals> {
  const handle = await sweptMemory({ [flavor]: roots })
  const prices = await loadPrices(readOverrides({}, {}))
  const { total } = usageReport(handle, { group: 'day', zone: new TimeZone('UTC'), prices })
  return {
    input: total.input_tokens,
    cacheRead: total.cache_read_tokens,
    cacheWrite: total.cache_write_5m_tokens + total.cache_write_1h_tokens,
    output: total.output_tokens,
    reasoning: total.reasoning_tokens,
  }
}

const CLIENTS: Record<string, string[]> = {
  claude: ['claude', 'claude-tui', 'claude-2.1.200', 'claude-2.1.50', 'claude-2.0', 'claude-1.0'],
  codex: ['codex', 'codex-codemode', 'codex-tui', 'codex-0.145', 'codex-0.121', 'codex-0.80', 'codex-0.45'],
  grok: ['grok', 'grok-tui', 'grok-chat', 'grok-messages', 'grok-1.0.5'],
}
/** Scenarios in which a response is on disk more than once. */
const FORKED = /fork|resume|subagent|compact/

describe.each(Object.entries(CLIENTS))('tokens of %s', (flavor, clients) => {
  const count = COUNT[flavor] as (typeof COUNT)[string]

  // Scenario by scenario: the scripted model used the same response ids in each.
  it.each(clients)('in sessions written by %s', async (client) => {
    const directory = unpackAgent(client)
    const isNewest = client === clients[0]
    const scenarios = readdirSync(directory).filter((name) => isNewest || FORKED.test(name))
    const all: Totals[] = []
    for (const scenario of scenarios) {
      const root = join(directory, scenario, `.${flavor}`)
      const totals = count([root])
      expect(await ours(flavor, [root]), scenario).toEqual(totals)
      all.push(totals)
    }
    expect(add(all).output).toBeGreaterThan(0)
  })
})

// One listener for each client that is unpacked.
process.setMaxListeners(40)

/** Transcripts that people filed elsewhere, back to where the agent had them. */
function moveToProjects(directory: string): void {
  for (const path of filesBelow(directory)) {
    if (!path.endsWith('.jsonl') || path.includes('/projects/')) continue
    const project = join(directory, 'projects', dirname(path).replaceAll('/', '-'))
    mkdirSync(project, { recursive: true })
    renameSync(path, join(project, basename(path)))
  }
}

describe.each(['claude', 'codex'])("strangers' sessions of %s", (flavor) => {
  it.skipIf(CORPORA === undefined)('agree (npm run test:corpora, where they lie)', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'recollect-corpus-'))
    try {
      execFileSync('tar', ['-xzf', join(CORPORA as string, `${flavor}.tar.gz`), '-C', directory])
      if (flavor === 'claude') moveToProjects(directory)
      const totals = (COUNT[flavor] as (typeof COUNT)[string])([directory])
      expect(totals.output).toBeGreaterThan(50_000)
      expect(await ours(flavor, [directory])).toEqual(totals)
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  })
})
