// The frozen dump: the same program gives the same bytes, and what changed is told by kind; of strangers without a word
// of theirs.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { temporary } from './setup/temporary.ts'

const SCRIPT = resolve(import.meta.dirname, '..', 'scripts', 'frozen-dump.mjs')
const HOME = join('codex-tui', 'basic')
const KINDS = ['answers.txt', 'bodies.txt', 'documents.txt', 'exports.txt', 'tables.txt']

function run(...args: string[]): { code: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT, ...args], { encoding: 'utf8' })
  return { code: status, stdout, stderr }
}

const read = (dump: string, kind: string): string => readFileSync(join(dump, HOME, kind), 'utf8')

let first: string
let second: string
beforeAll(() => {
  first = temporary('dump')
  second = temporary('dump')
  for (const directory of [first, second])
    expect(run(directory, '--only', HOME)).toMatchObject({ code: 0, stderr: '' })
})

it('is the same, byte by byte, when the program is', () => {
  expect(readdirSync(join(first, HOME)).sort()).toEqual(KINDS)
  for (const kind of KINDS) expect(read(second, kind), kind).toBe(read(first, kind))
  const { code, stdout } = run('--compare', first, second)
  expect(stdout).toMatch(/^0 of [1-9]\d+ kinds differ\n$/)
  expect(code).toBe(0)
})

it('holds every table, every body, each export and the answers of each tool', () => {
  const tables = read(first, 'tables.txt')
  for (const name of ['sessions', 'digests', 'ledger', 'digest_words'])
    expect(tables).toContain(`\nmemory.${name} `)
  for (const name of ['events', 'payloads', 'sources', 'words']) expect(tables).toContain(`\ncache.${name} `)
  const names = (kind: string): Set<string> =>
    new Set(
      read(first, kind)
        .split('\n')
        .flatMap((line) => (line.startsWith('\t') ? [] : line.split(' ', 1))),
    )
  expect(names('bodies.txt').size - 1).toBe(tables.match(/^cache\.payloads /gm)?.length)
  expect([...names('exports.txt')]).toEqual(['md', 'html', 'jsonl', 'atif', 'otlp', ''])
  for (const name of ['digest', 'show', 'sessions', 'lineage', 'search', 'usage', 'patterns', 'retro'])
    expect(names('documents.txt')).toContain(name)
  const tools = JSON.parse(/^tools\n((?:\t.*\n)+)/.exec(read(first, 'answers.txt'))?.[1] ?? '') as {
    tools: { name: string }[]
  }
  for (const { name } of tools.tools) expect(names('answers.txt')).toContain(name)
})

it('shows a digest that changed, and only that', () => {
  const changed = temporary('dump')
  cpSync(first, changed, { recursive: true })
  const path = join(changed, HOME, 'documents.txt')
  writeFileSync(path, read(first, 'documents.txt').replace('"outcome": "success"', '"outcome": "fail"'))
  const { code, stdout } = run('--compare', first, changed)
  expect(code).toBe(1)
  expect(stdout).toMatch(
    /^documents digest: of 1 1 changed, 0 gone, 0 added\n {4}codex-tui\/basic: digest codex:/,
  )
  expect(stdout).toContain('fail')
  expect(stdout).toMatch(/\n1 of \d+ kinds differ\n$/)
})

it('tells of strangers in which section and column, never a text', () => {
  const roots = ['secret one', 'secret two'].map((text) => {
    const directory = temporary('dump')
    const home = join(directory, 'corpora', 'some')
    mkdirSync(home, { recursive: true })
    writeFileSync(join(home, 'tables.txt'), `memory.sessions s:1\n\tsession_uid: "s:1"\n\ttitle: "${text}"\n`)
    return directory
  }) as [string, string]
  const { code, stdout } = run('--compare', ...roots)
  expect(code).toBe(1)
  expect(stdout).toContain('corpora/some: memory.sessions s:1: title\n')
  expect(stdout).not.toContain('secret')
})

it('refuses to write into the checkout, or over another dump', () => {
  for (const directory of [resolve(import.meta.dirname, 'dumped'), first])
    expect(run(directory).stderr).toContain('an empty directory outside of the checkout is needed')
})
