// How often the outcome rules are right: on scenarios of the real agents, whose truth is known, and on strangers' public
// sessions that were read and labelled one by one (`npm run test:corpora`; labels and hashes are committed, never their text). The tables in docs/outcome.md must equal what is measured here.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { Outcome } from '../src/model.ts'
import labels from './fixtures/outcome-labels.json' with { type: 'json' }
import { filesBelow } from './setup/collect.ts'
import { CORPORA } from './setup/corpora.ts'
import { agentRoots, TestMemory } from './setup/memory.ts'

const root = join(import.meta.dirname, '..')
const OUTCOMES: Outcome[] = ['success', 'fail', 'abandoned', 'unknown']

interface Judged {
  label: Outcome
  found: Outcome
  /** Of which set, see docs/outcome.md. */
  set: string
}

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex')

function table(judged: readonly Judged[]): string {
  const count = (label: Outcome, found: Outcome): number =>
    judged.filter((one) => one.label === label && one.found === found).length
  const right = judged.filter((one) => one.label === one.found).length
  const wrong = judged.filter((one) => one.label !== one.found && one.found !== 'unknown').length
  return [
    `| label ↓ · found → | ${OUTCOMES.join(' | ')} |`,
    '|---|---|---|---|---|',
    ...OUTCOMES.map((label) => `| ${label} | ${OUTCOMES.map((found) => count(label, found)).join(' | ')} |`),
    '',
    `${judged.length} sessions: ${((100 * right) / judged.length).toFixed(1)} % right, ${wrong} wrong, ${judged.length - right - wrong} left open.`,
  ].join('\n')
}

function published(name: string): string {
  const text = readFileSync(join(root, 'docs', 'outcome.md'), 'utf8')
  return (
    new RegExp(`<!-- ${name} -->\\n\\n?([\\s\\S]*?)\\n\\n?<!-- end -->`).exec(text)?.[1] ?? `no table ${name}`
  )
}

/** Prints what was measured, and compares it with the document; returns the share that is right. */
function check(name: string, judged: readonly Judged[]): number {
  console.log(`${name}\n${table(judged)}\n`)
  expect(published(name)).toBe(table(judged))
  return judged.filter((one) => one.label === one.found).length / judged.length
}

const memories: TestMemory[] = []
afterAll(() => {
  for (const memory of memories) memory.remove()
})

describe('outcomes', () => {
  it('of scenarios of the real agents', async () => {
    const wanted = Object.entries(labels.fixtures) as [string, Outcome | Outcome[]][]
    const { roots, uids } = agentRoots([...new Set(wanted.map(([name]) => name.split('/')[0] as string))])
    const memory = new TestMemory(roots)
    memories.push(memory)
    await memory.sweep()
    const digests = memory.digests()
    expect([...uids.keys()].sort()).toEqual(wanted.map(([name]) => name).sort())
    const judged = wanted.flatMap(([name, label]) =>
      (uids.get(name) ?? []).map((uid, at) => ({
        label: Array.isArray(label) ? (label[at] as Outcome) : label,
        found: digests.get(uid)?.outcome ?? 'unknown',
        set: 'scenarios',
      })),
    )
    expect(check('scenarios', judged)).toBeGreaterThanOrEqual(0.85)
  })

  it.skipIf(CORPORA === undefined)(
    "of strangers' sessions (npm run test:corpora, where they lie)",
    async () => {
      const unpacked = mkdtempSync(join(tmpdir(), 'recollect-corpora-'))
      try {
        const files = labels.corpora.filter(([flavor]) => flavor !== 'entire')
        const wanted = new Map(files.map(([, hash, label]) => [hash as string, label as Outcome]))
        const setOf = new Map(files.map(([, hash, , set]) => [hash, set as string]))
        const homes = {
          claude: join(unpacked, 'kept', 'projects', 'labelled'),
          codex: join(unpacked, 'kept', 'sessions'),
        }
        const homeOf = new Map(
          files.map(([flavor, hash]) => [hash as string, homes[flavor as keyof typeof homes]]),
        )
        const found = new Map<string, string>()
        for (const flavor of ['claude', 'codex'])
          execFileSync('tar', ['-xzf', join(CORPORA as string, `${flavor}.tar.gz`), '-C', unpacked])
        for (const home of Object.values(homes)) mkdirSync(home, { recursive: true })
        for (const path of filesBelow(unpacked)) {
          const hash = sha256(readFileSync(path))
          if (!wanted.has(hash) || found.has(hash)) continue
          const copy = join(homeOf.get(hash) as string, basename(path))
          copyFileSync(path, copy)
          found.set(hash, copy)
        }
        expect(found.size).toBe(wanted.size)
        const memory = new TestMemory({ claude: [homes.claude], codex: [homes.codex] })
        memories.push(memory)
        await memory.sweep()
        const outcomes = memory.read(({ memory: tier2 }) => {
          const rows = tier2.prepare('SELECT source_path, outcome FROM sessions').all() as unknown as {
            source_path: string
            outcome: Outcome
          }[]
          return new Map(rows.map((row) => [row.source_path, row.outcome]))
        })
        const judged = [...wanted].map(([hash, label]) => ({
          label,
          found: outcomes.get(found.get(hash) as string) ?? 'unknown',
          set: setOf.get(hash) ?? '',
        }))
        const ofSet = (set: string): Judged[] => judged.filter((one) => one.set === set)
        check('corpora, read before', ofSet('read'))
        check('corpora, second reader', ofSet('second'))
        expect(check('corpora, held out', ofSet('held-out'))).toBeGreaterThanOrEqual(0.85)
      } finally {
        rmSync(unpacked, { recursive: true, force: true })
      }
    },
  )

  it.skipIf(CORPORA === undefined)(
    'of sessions that nobody had read before (npm run test:corpora, where they lie)',
    async () => {
      const unpacked = mkdtempSync(join(tmpdir(), 'recollect-corpora-'))
      try {
        execFileSync('tar', ['-xzf', join(CORPORA as string, 'entire.tar.gz'), '-C', unpacked])
        const memory = new TestMemory({ entire: [unpacked] })
        memories.push(memory)
        await memory.sweep()
        // Several files tell of one session: its name stands for it.
        const outcomes = new Map([...memory.digests()].map(([uid, { outcome }]) => [sha256(uid), outcome]))
        const fresh = labels.corpora.filter(([flavor]) => flavor === 'entire')
        expect(fresh.filter(([, hash]) => !outcomes.has(hash as string))).toEqual([])
        const judged = fresh.map(([, hash, label]) => ({
          label: label as Outcome,
          found: outcomes.get(hash as string) as Outcome,
          set: 'fresh',
        }))
        expect(check('corpora, never seen', judged)).toBeGreaterThanOrEqual(0.85)
      } finally {
        rmSync(unpacked, { recursive: true, force: true })
      }
    },
  )
})
