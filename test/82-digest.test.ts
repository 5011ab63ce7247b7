// Digests of real sessions: the fields other programs read, what each rests on, and that they are made exactly as often
// as needed, whatever was killed in between.

import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Digest } from '../src/digest/digest.ts'
import { digestChanged } from '../src/digest/index.ts'
import { listPatterns } from '../src/digest/patterns.ts'
import { EVENT_KINDS } from '../src/model.ts'
import type { UsageReport } from '../src/query/usage.ts'
import { databasesOf } from '../src/store/databases.ts'
import { FLAG } from '../src/store/rows.ts'
import { PRICE_LIST } from '../src/usage/prices.ts'
import { filesBelow } from './setup/collect.ts'
import { agentRoots, TestMemory } from './setup/memory.ts'
import { isHere } from './setup/programs.ts'

const cli = join(import.meta.dirname, '..', 'dist', 'cli.cjs')
const { roots, uids } = agentRoots(['claude', 'codex', 'grok'])
const shared = new TestMemory(roots)
const cleanUp: (() => void)[] = [() => shared.remove()]
let digests: Map<string, Digest>

beforeAll(async () => {
  const report = await shared.sweep()
  digests = shared.digests()
  // Those of which more came in while the sweep went on were made twice.
  expect(report.digestedCount).toBeGreaterThanOrEqual(digests.size)
})
afterAll(() => {
  for (const undo of cleanUp) undo()
})

const uidOf = (scenario: string, at = 0): string => (uids.get(scenario) as string[])[at] as string
const digestOf = (scenario: string, at = 0): Digest => digests.get(uidOf(scenario, at)) as Digest

/** A memory of its own over a copy of one scenario. */
function copyOf(scenario: string, data: string): { memory: TestMemory; files: string[]; uid: string } {
  const [source] = (roots[scenario.split('/')[0] as string] as string[]).filter((path) =>
    path.includes(`/${scenario.split('/')[1]}/`),
  )
  const directory = mkdtempSync(join(tmpdir(), 'recollect-copy-'))
  cpSync(source as string, join(directory, data), { recursive: true })
  const memory = new TestMemory({ [scenario.split('/')[0] as string]: [join(directory, data)] })
  cleanUp.push(
    () => memory.remove(),
    () => rmSync(directory, { recursive: true, force: true }),
  )
  return { memory, files: filesBelow(directory), uid: uidOf(scenario) }
}

const run = (home: string, ...args: string[]) =>
  spawnSync(process.execPath, [cli, ...args], {
    env: { ...process.env, RECOLLECT_HOME: home },
    encoding: 'utf8',
  })

describe('the contract', () => {
  it('has every field of §11.2, with its type, in every digest', () => {
    const strings = [
      'session_uid flavor repo domain model started_at ended_at outcome first_prompt last_assistant',
    ].flatMap((names) => names.split(' ')) as (keyof Digest)[]
    for (const digest of digests.values()) {
      for (const name of strings) expect(digest[name], name).toBeTypeOf('string')
      expect(['success', 'fail', 'abandoned', 'unknown']).toContain(digest.outcome)
      for (const name of ['event_count', 'schema_version'] as const)
        expect(Number.isInteger(digest[name])).toBe(true)
      expect(Object.keys(digest.cost).sort()).toEqual(
        ['cache_tokens', 'input_tokens', 'output_tokens', 'retries', 'turns', 'wall_clock_s'].sort(),
      )
      for (const counts of [digest.cost, digest.tool_histogram, digest.kind_counts, digest.markers])
        for (const count of Object.values(counts)) expect(count).toBeTypeOf('number')
      for (const kind of Object.keys(digest.kind_counts)) expect(EVENT_KINDS).toContain(kind)
      for (const error of digest.error_snippets)
        expect(error).toMatchObject({
          fingerprint: expect.any(String),
          sample: expect.any(String),
          count: expect.any(Number),
          tool: expect.any(String),
        })
      if (digest.started_at !== '') expect(new Date(digest.started_at).toISOString()).toBe(digest.started_at)
    }
  })

  it('is documented field by field', () => {
    const docs = readFileSync(join(import.meta.dirname, '..', 'docs', 'digest.md'), 'utf8')
    const digest = digestOf('claude/tools')
    const names = [digest, digest.markers, digest.metrics, digest.cost, digest.coverage].flatMap(Object.keys)
    for (const signal of digest.signals) names.push(signal.signal)
    expect(names.filter((name) => !docs.includes(`\`${name}\``))).toEqual([])
  })

  it('is read from HELIX_STORE_DB by a program that knows only SQLite', () => {
    const uid = uidOf('codex/tools')
    const other = new DatabaseSync(shared.paths.memoryPath, { readOnly: true })
    const row = other.prepare('SELECT digest FROM digests WHERE session_uid = ?').get(uid) as {
      digest: string
    }
    other.close()
    expect(JSON.parse(row.digest)).toEqual(digests.get(uid))
  })

  it.skipIf(spawnSync('sqlite3', ['-version']).status !== 0)(
    'is read by the sqlite3 program (skipped without it)',
    () => {
      const sql = `SELECT json_extract(digest, '$.outcome'), json_extract(digest, '$.cost.output_tokens') FROM digests WHERE session_uid = '${uidOf('grok/tools')}'`
      const said = execFileSync('sqlite3', ['-readonly', shared.paths.memoryPath, sql], { encoding: 'utf8' })
      expect(said.trim()).toBe(`success|${digestOf('grok/tools').cost.output_tokens}`)
    },
  )
})

describe('what a digest tells', () => {
  it.each(['claude', 'codex', 'grok'])('of the same work done with %s', (client) => {
    const digest = digestOf(`${client}/tools`)
    expect(digest).toMatchObject({
      outcome: 'success',
      outcome_detail: { rule: 'tests-pass' },
      first_prompt: 'The tests of calc.js fail. Find the bug, fix it and run the tests.',
      last_assistant: 'Fixed: `add` now adds, and all tests pass.',
      coverage: { gap_bytes: 0, share: 1 },
      markers: { errors: 2, retries: 1, edits: 1, test_runs: 2, test_failures: 1 },
    })
    expect(digest.files.filter((one) => one.edits > 0)).toMatchObject([
      { path: expect.stringMatching(/calc\.js$/), edits: 1 },
    ])
    expect(digest.tests.map((test) => [test.command, test.verdict])).toEqual([
      ['node test.js', 'failed'],
      ['node test.js', 'passed'],
    ])
    expect(digest.signals.map((one) => one.signal)).toEqual(['test_fixed'])
    const [missing, assertion] = digest.error_snippets
    expect(missing?.sample).toMatch(/Cannot find module/)
    expect(assertion?.sample).toMatch(/should be 5/)
    expect(assertion?.resolved_by?.steps.map((step) => step.what)).toEqual([
      expect.stringMatching(/^edit .*calc\.js$/),
    ])
  })

  it('names the same failure alike in all three', () => {
    const prints = (client: string): string[] =>
      digestOf(`${client}/tools`).error_snippets.map((one) => one.fingerprint)
    expect(prints('codex')).toEqual(prints('claude'))
    expect(prints('grok')).toEqual(prints('claude'))
    const pattern = shared
      .read((handle) => listPatterns(handle))
      .find((one) => one.subject === prints('claude')[1])
    expect(pattern).toMatchObject({
      kind: 'error',
      flavors: ['claude', 'codex', 'grok'],
      last_resolution: { steps: expect.any(Array) },
    })
    expect(pattern?.evidence.map((one) => one.session_uid)).toContain(uidOf('claude/tools'))
  })

  it('counts what a fork did itself', () => {
    const [parent, fork] = [digestOf('claude/fork'), digestOf('claude/fork', 1)]
    expect(parent.kind_counts).toMatchObject({ user_msg: 2, assistant_msg: 2 })
    expect(fork.kind_counts).toMatchObject({ user_msg: 1, assistant_msg: 1 })
    expect(fork.first_prompt).toMatch(/^Fork A/)
  })

  it('knows sub-agents, compactions, interrupts and denials', () => {
    expect(digestOf('claude/subagent').subagents).toMatchObject([
      { agent: expect.any(String), events: expect.any(Number) },
    ])
    expect(digestOf('codex/subagent').subagents).toMatchObject([
      { session_uid: expect.stringMatching(/^codex:/) },
    ])
    expect(digestOf('claude/autocompact').compactions.length).toBe(1)
    expect(digestOf('codex/interrupt').markers.interrupts).toBe(1)
    expect(digestOf('claude/permission_denied').markers.denials).toBe(1)
    expect(digestOf('grok/api_retry').evidence['request_retries']).toHaveLength(2)
  })

  it('cites only own events of the session', () => {
    shared.read(({ cache }) => {
      const own = cache.prepare(
        `SELECT 1 FROM cached c JOIN events e ON e.session = c.id
         WHERE c.session_uid = ? AND e.seq = ? AND NOT e.flags & ${FLAG.inherited | FLAG.copied | FLAG.superseded}`,
      )
      let cited = 0
      for (const [uid, digest] of digests) {
        for (const seq of seqsIn({ ...digest, evidence: { ...digest.evidence, first_prompt: [] } })) {
          cited++
          expect(own.get(uid, seq), `${uid}#${seq}`).toBeDefined()
        }
      }
      expect(cited).toBeGreaterThan(200)
    })
  })

  it('is the same bytes when made again', async () => {
    const before = rawDigests(shared)
    shared.write((store) => {
      databasesOf(store.reader).memory.exec("UPDATE digests SET rule_version = '0', digest = '{}'")
    })
    expect((await shared.sweep()).digestedCount).toBe(before.size)
    expect(rawDigests(shared)).toEqual(before)
  })
})

const BUCKETS = { infra: ['mcp*', '*mcp_resource*', '*mcpresource*', 'tool*search'] }

function rawDigests(memory: TestMemory): Map<string, string> {
  return memory.read((handle) => {
    const rows = handle.memory.prepare('SELECT session_uid, digest FROM digests').all()
    return new Map(
      (rows as unknown as { session_uid: string; digest: string }[]).map((row) => [
        row.session_uid,
        row.digest,
      ]),
    )
  })
}

it('carries with each statement the events it rests on', () => {
  const bare: string[] = []
  for (const [uid, digest] of digests) {
    const stated = [
      digest.files,
      digest.commands,
      digest.tests,
      digest.commits,
      digest.pull_requests,
      digest.subagents,
      digest.signals,
      digest.error_snippets,
      digest.outcome_detail.rule === 'nothing-happened' ? [] : [digest.outcome_detail],
    ].flat()
    for (const one of stated) if (one.seqs.length === 0) bare.push(`${uid} ${JSON.stringify(one)}`)
    for (const name of ['first_prompt', 'last_assistant'] as const)
      if (digest[name] !== '' && digest.evidence[name]?.length !== 1) bare.push(`${uid} ${name}`)
  }
  expect(bare).toEqual([])
  const own = [...digests.values()].flatMap((digest) => digest.subagents).filter((one) => one.session_uid)
  expect(own.length).toBeGreaterThan(2)
})

it('is answered for by every command that reads, from the file that HELIX_STORE_DB names alone', () => {
  const uid = uidOf('codex/subagent')
  const elsewhere = mkdtempSync(join(tmpdir(), 'recollect-elsewhere-'))
  cleanUp.push(() => rmSync(elsewhere, { recursive: true, force: true }))
  const ask = (home: string, env: Record<string, string>, args: string[]): unknown => {
    const all = { PATH: process.env['PATH'] ?? '', HOME: elsewhere, RECOLLECT_HOME: home, ...env }
    const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args], {
      encoding: 'utf8',
      env: all,
    })
    expect([status, stderr, args]).toEqual([0, '', args])
    return stdout
  }
  for (const args of [
    ['digest', uid, '--json'],
    ['env', uid],
    ['sessions', '--json'],
    ['lineage', uid, '--json'],
    ['usage', 'model', '--json'],
    ['patterns', '--json'],
    ['retro', '--since', '2026-11-01', '--until', '2026-11-30', '--json'],
  ]) {
    const here = ask(shared.home, {}, args)
    const there = ask(join(elsewhere, 'none'), { HELIX_STORE_DB: shared.paths.memoryPath }, args)
    expect(there).toBe(here)
  }
  expect(
    ask(join(elsewhere, 'none'), { HELIX_STORE_DB: shared.paths.memoryPath }, ['search', 'calc.js']),
  ).toContain('calc.js')
})

/** Every list of numbers in a digest is a list of seqs. */
function seqsIn(value: unknown): number[] {
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value) && value.every((one) => typeof one === 'number')) return value as number[]
  return Object.entries(value).flatMap(([name, inner]) =>
    /(?:^|_)seq$/.test(name) ? [inner as number] : seqsIn(inner),
  )
}

describe('when digests are made', () => {
  const madeAt = (memory: TestMemory): number =>
    memory.read(
      (handle) =>
        (handle.memory.prepare('SELECT max(made_at) AS at FROM digests').get() as { at: number }).at,
    )

  it('not again while nothing changes; again when the session grows', async () => {
    const { memory, files, uid } = copyOf('codex/qa', '.codex')
    expect((await memory.sweep()).digestedCount).toBe(1)
    expect((await memory.sweep()).digestedCount).toBe(0)
    const transcript = files.find((path) => path.endsWith('.jsonl')) as string
    const line = {
      timestamp: '2026-11-16T00:00:00.000Z',
      type: 'event_msg',
      payload: { type: 'turn_aborted', reason: 'interrupted' },
      ordinal: 9999,
    }
    appendFileSync(transcript, `${JSON.stringify(line)}\n`)
    expect((await memory.sweep()).digestedCount).toBe(1)
    expect(memory.digests().get(uid)?.outcome).toBe('abandoned')
  })

  it('again when the rules change, also by configuration; frozen once the events are gone', async () => {
    const { memory, files, uid } = copyOf('claude/tools', 'projects')
    await memory.sweep()
    memory.write((store) => {
      expect(digestChanged(store, { buckets: { infra: ['bash'] } })).toBe(1)
    })
    expect(memory.digests().get(uid)?.metrics.infra_overhead_share).toBeGreaterThan(0.5)
    rmSync(memory.paths.cacheDirectory, { recursive: true })
    for (const path of files) rmSync(path)
    expect((await memory.sweep()).digestedCount).toBe(0)
    expect(memory.digests().get(uid)?.metrics.infra_overhead_share).toBeGreaterThan(0.5)
    expect(run(memory.home, 'digest', uid).status).toBe(0)
  })

  it('later, when a kill came between the events and the digest', async () => {
    const { memory, uid } = copyOf('claude/tools', 'projects')
    const abort = new AbortController()
    abort.abort()
    await memory.sweep()
    const before = rawDigests(memory)
    // What a kill leaves: the events are committed, the watermark is not.
    memory.write((store) => {
      const { memory: tier2 } = databasesOf(store.reader)
      tier2.exec(
        "DELETE FROM digests; DELETE FROM failures; UPDATE sessions SET analyzed_at = NULL, outcome = 'unknown'",
      )
      expect(digestChanged(store, { buckets: BUCKETS, signal: abort.signal })).toBe(0)
    })
    expect((await memory.sweep()).digestedCount).toBe(1)
    expect(rawDigests(memory)).toEqual(before)
    const session = memory.read((handle) =>
      handle.memory
        .prepare('SELECT outcome, analyzed_at, ingested_at FROM sessions WHERE session_uid = ?')
        .get(uid),
    ) as { outcome: string; analyzed_at: number; ingested_at: number }
    expect(session.outcome).toBe('success')
    expect(session.analyzed_at).toBeGreaterThanOrEqual(session.ingested_at)
    expect(madeAt(memory)).toBeLessThanOrEqual(Date.now())
  })

  it('with what the tokens cost, and when the prices were taken', async () => {
    const { memory, uid } = copyOf('claude/tools', 'projects')
    await memory.sweep()
    const { models, total } = JSON.parse(run(memory.home, 'usage', '--json').stdout) as UsageReport
    expect(total.responses).toBeGreaterThan(3)
    expect(models.map((one) => one.priced_as)).not.toContain(null)
    expect(total.cost_usd).not.toBe('0.00')
    expect(memory.digests().get(uid)?.price).toEqual({
      usd: total.cost_usd,
      price_date: PRICE_LIST.date,
      unpriced_models: [],
    })
  })

  it('with no price where a model has none, and with one that the user gave', async () => {
    const { memory, uid } = copyOf('claude/tools', 'projects')
    await memory.sweep()
    memory.write((store) =>
      databasesOf(store.reader).memory.exec(
        "UPDATE ledger_models SET model = 'nobody-1'; INSERT INTO stale_slots SELECT session_uid FROM sessions; UPDATE sessions SET analyzed_at = NULL",
      ),
    )
    await memory.sweep()
    expect(memory.digests().get(uid)?.price).toEqual({
      usd: null,
      price_date: PRICE_LIST.date,
      unpriced_models: ['nobody-1'],
    })
    expect(
      memory
        .digests()
        .get(uid)
        ?.signals.map((one) => one.signal),
    ).not.toContain('cost_outlier')
    appendFileSync(
      join(memory.home, 'config.toml'),
      '[prices."nobody-1"]\ninput = 1000000\noutput = 1000000\n',
    )
    memory.write((store) => databasesOf(store.reader).memory.exec('UPDATE sessions SET analyzed_at = NULL'))
    await memory.sweep()
    const digest = memory.digests().get(uid) as Digest
    const tokens = digest.cost.input_tokens + digest.cost.output_tokens + digest.cost.cache_tokens
    expect(digest.price?.usd).toBe(`${tokens}.00`)
    expect(digest.signals.find((one) => one.signal === 'cost_outlier')).toMatchObject({
      subject: '',
      count: tokens,
      seqs: [expect.any(Number), expect.any(Number)],
    })
  })

  it('without loading the price list again, once its models were looked up', async () => {
    const { memory } = copyOf('claude/qa', 'projects')
    await memory.sweep()
    const listed = (): unknown =>
      memory.read((handle) => handle.memory.prepare('SELECT name, list FROM model_prices').all())
    const before = listed() as { list: string }[]
    expect(before.length).toBeGreaterThan(0)
    for (const { list } of before) expect(list).toBe(PRICE_LIST.version)
    // A newer list is asked again, also when there is nothing else to do.
    memory.write((store) =>
      databasesOf(store.reader).memory.exec("UPDATE model_prices SET list = '0.0.1', listed = 'null'"),
    )
    await memory.sweep()
    expect(listed()).toEqual(before)
  })

  it('as an addition to what is frozen, when a session goes on after its events were evicted', async () => {
    const { memory, files, uid } = copyOf('codex/tools', '.codex')
    await memory.sweep()
    const before = memory.digests().get(uid) as Digest
    const evict = (): void =>
      memory.write((store) => {
        databasesOf(store.reader).cache.exec('DELETE FROM events; DELETE FROM touched')
      })
    const transcript = files.find((path) => path.endsWith('.jsonl')) as string
    let ordinal = 9000
    const goOn = async (text: string): Promise<Digest> => {
      const message = { type: 'message', role: 'user', content: [{ type: 'input_text', text }] }
      const line = {
        timestamp: '2026-11-16T00:00:00.000Z',
        type: 'response_item',
        payload: message,
        ordinal: ordinal++,
      }
      appendFileSync(transcript, `${JSON.stringify(line)}\n`)
      expect((await memory.sweep()).digestedCount).toBe(1)
      return memory.digests().get(uid) as Digest
    }
    evict()
    const after = await goOn('And now?')
    expect(after.frozen).toMatchObject({ rule_version: before.rule_version })
    expect(after).toMatchObject({
      outcome: 'abandoned',
      first_prompt: before.first_prompt,
      tests: before.tests,
    })
    expect(after.event_count).toBe(before.event_count + 1)
    expect(after.tool_histogram).toEqual(before.tool_histogram)
    // Nothing is added twice, however often the rest is digested again, or evicted too.
    expect((await goOn('Hello?')).event_count).toBe(before.event_count + 2)
    evict()
    const last = await goOn('Anybody?')
    expect(last.event_count).toBe(before.event_count + 3)
    expect(last.error_snippets.map((one) => one.count)).toEqual(before.error_snippets.map((one) => one.count))
    expect(last.frozen?.until_seq).toBeGreaterThan(after.frozen?.until_seq as number)
  })

  it('with failures named by the rules of today, from the samples that a frozen one kept', async () => {
    const { memory, uid } = copyOf('codex/tools', '.codex')
    await memory.sweep()
    const before = memory.digests().get(uid) as Digest
    expect(before.error_snippets.length).toBeGreaterThan(0)
    const failures = (): unknown[] =>
      memory.read((handle) => handle.memory.prepare('SELECT * FROM failures').all())
    const now = failures()
    memory.write((store) => {
      databasesOf(store.reader).cache.exec('DELETE FROM events; DELETE FROM touched')
      databasesOf(store.reader).memory.exec(`UPDATE digests SET digest = replace(digest, 'e4:', 'e2:');
        UPDATE failures SET fingerprint = replace(fingerprint, 'e4:', 'e2:');
        UPDATE signals SET subject = replace(subject, 'e4:', 'e2:')`)
    })
    expect(failures()).not.toEqual(now)
    expect((await memory.sweep()).digestedCount).toBe(1)
    expect(memory.digests().get(uid)).toEqual(before)
    expect(failures()).toEqual(now)
    // What was cut keeps its name, and is not tried again and again.
    memory.write((store) =>
      databasesOf(store.reader).memory.exec(
        "UPDATE failures SET fingerprint = replace(fingerprint, 'e4:', 'e2:'), sample = sample || '…'",
      ),
    )
    expect((await memory.sweep()).digestedCount).toBe(0)
  })

  it('with the watermark in one transaction: a digest that cannot be written leaves it alone', async () => {
    const { memory } = copyOf('claude/qa', 'projects')
    await memory.sweep()
    memory.write((store) => {
      const { memory: tier2 } = databasesOf(store.reader)
      tier2.exec(`UPDATE sessions SET analyzed_at = NULL;
        CREATE TRIGGER refuse BEFORE INSERT ON digests BEGIN SELECT raise(ABORT, 'disk full'); END`)
      expect(() => digestChanged(store, { buckets: BUCKETS })).toThrow(/disk full/)
      expect(tier2.prepare('SELECT count(*) AS n FROM sessions WHERE analyzed_at IS NOT NULL').get()).toEqual(
        { n: 0 },
      )
      tier2.exec('DROP TRIGGER refuse')
      expect(digestChanged(store, { buckets: BUCKETS })).toBe(1)
    })
  })
})

describe('the commands', () => {
  it('digest --json prints the stored digest; 1 where there is none', () => {
    const uid = uidOf('claude/tools')
    const shown = run(shared.home, 'digest', uid, '--json')
    expect(shown.status).toBe(0)
    expect(JSON.parse(shown.stdout)).toEqual({ ...digests.get(uid), tree: null })
    const missing = run(shared.home, 'digest', 'claude:nobody', '--json')
    expect(missing.status).toBe(1)
    expect(JSON.parse(missing.stdout)).toMatchObject({ error: { code: 'NOT_FOUND' } })
  })

  it('digest for people names the outcome and what it rests on', () => {
    const shown = run(shared.home, 'digest', uidOf('claude/tools'))
    expect(shown.stdout).toMatch(/^success: tests passed \(certain, 95 %\) #\d+/m)
    expect(shown.stdout).toMatch(/^tests {5}2 runs, 1 failed; the last passed: node test\.js/m)
  })

  describe('env gives exactly the variables of §11.1, whatever they hold', () => {
    const HOSTILE = [
      `it's $(touch /nowhere) \`x\` "y" \\ \n end`,
      'ends in a backslash\\',
      "\\'",
      "'",
      '\\\\two \\n \\t \\x41 \\u0041',
      '!history $HOME $\u007bHOME} %PATH% ~ * ? [a] {a,b} #no; rm -rf / | cat && x > y < z',
      'Grüße 世界 👩‍👩‍👧‍👦 \u202e back',
      '-n --help =x',
      '\t\ttabs\r\nlines\n\n',
      '',
    ]
    const NAMES =
      'HELIX_SESSION_UID HELIX_REPO HELIX_FLAVOR HELIX_TOKENS HELIX_INFRA_OVERHEAD_SHARE HELIX_STORE_DB'.split(
        ' ',
      )
    const printAll = NAMES.map((name) => `printf '%s\\0' "$${name}"`).join('\n')
    const eval_ = `eval "$(cat "$F")"\n${printAll}`
    // In fish lines come by a pipe: a substitution would be split at their ends.
    const SHELLS: [shell: string, args: string[]][] = [
      ['sh', ['-c', eval_]],
      ['dash', ['-c', eval_]],
      ['bash', ['-c', eval_]],
      ['bash', ['-i', '-c', eval_]],
      ['zsh', ['-f', '-c', eval_]],
      ['fish', ['--no-config', '-c', `cat $F | source\n${printAll}`]],
    ]
    let memory: TestMemory
    let uid: string
    const shown: string[] = []
    beforeAll(async () => {
      const copy = copyOf('codex/tools', '.codex')
      memory = copy.memory
      uid = copy.uid
      await memory.sweep()
      for (const repo of HOSTILE) {
        memory.write((store) => {
          databasesOf(store.reader)
            .memory.prepare("UPDATE digests SET digest = json_set(digest, '$.repo', ?)")
            .run(repo)
        })
        const { status, stdout } = run(memory.home, 'env', uid)
        expect(status).toBe(0)
        shown.push(stdout)
      }
    })

    for (const [shell, args] of SHELLS)
      it.skipIf(!isHere(shell))(`in ${shell} ${args[0]} (skipped without it)`, () => {
        const digest = memory.digests().get(uid) as Digest
        const tokens = String(digest.cost.input_tokens + digest.cost.output_tokens)
        const file = join(memory.home, 'env.txt')
        for (const [at, repo] of HOSTILE.entries()) {
          writeFileSync(file, shown[at] as string)
          const env = { PATH: process.env['PATH'] ?? '', HOME: memory.home, LANG: 'C.UTF-8', F: file }
          const seen = spawnSync(shell, args, { encoding: 'utf8', env }).stdout.split('\0')
          expect(seen).toEqual([uid, repo, 'codex', tokens, '0', memory.paths.memoryPath, ''])
        }
      })

    it('and no other, and says in a comment behind them what they are', () => {
      const [first] = shown as [string]
      expect(first.trimEnd().split('\n').at(-1)).toMatch(/^# of one session, for tools that read HELIX_\*/)
      expect(first.match(/^export \w+(?==)/gm)?.map((line) => line.slice('export '.length))).toEqual(NAMES)
    })
  })

  it('patterns --json lists what recurs, and --since leaves out the past', () => {
    const all = JSON.parse(run(shared.home, 'patterns', '--json').stdout) as {
      patterns: { kind: string; sessions: number }[]
    }
    expect(all.patterns.length).toBeGreaterThan(1)
    for (const pattern of all.patterns) expect(pattern.sessions).toBeGreaterThan(1)
    expect(JSON.parse(run(shared.home, 'patterns', '--json', '--since', '2099-01-01').stdout)).toEqual({
      patterns: [],
    })
    expect(run(shared.home, 'patterns', '--since', 'nonsense').status).toBe(2)
  })
})
