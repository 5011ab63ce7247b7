// How often blame is right, with the recorded clients: each mended the same line of the same little program. Some are
// moved to directories of their own, where all lines are the same; the others work in one file, one after the other,
// and somebody breaks it again by hand each time. Who wrote each line is known, so whatever is told is right or wrong.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { showBlame } from '../src/cli/blame.ts'
import { streamOf } from '../src/cli/streams.ts'
import type { Session } from '../src/model.ts'
import { listSessions } from '../src/query/sessions.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { World } from './setup/sweeping.ts'

const hasGit = spawnSync('git', ['--version']).status === 0
const world = new World()
const repository = join(world.base, 'project')
/** Where they were when they were recorded. */
const RECORDED = '/home/dev/proj'

const APART = 'cline continue copilot droid gemini goose kilo kimi letta omp pi qwen'.split(' ')
const TOGETHER = [
  ...['claude', 'claude-1.0', 'claude-2.0', 'claude-2.1.50', 'claude-2.1.200'],
  ...['codex', 'codex-0.45', 'codex-0.80', 'codex-0.121', 'codex-0.145', 'codex-codemode'],
  ...['grok', 'grok-1.0.5', 'grok-chat', 'grok-messages', 'pi-0.87'],
]

const BROKEN = `// calc.js: tiny calculator
function add(a, b) {
  return a - b;
}
function mul(a, b) {
  return a * b;
}
module.exports = { add, mul };
`
const MENDED = BROKEN.replace('a - b', 'a + b')

/** The files that a client left, as if it had been in another directory. */
function move(home: string, to: string): void {
  for (const name of readdirSync(home)) {
    const path = join(home, name)
    if (statSync(path).isDirectory()) move(path, to)
    else if (/\.(?:db|sqlite)$/.test(name)) moveRows(path, to)
    else if (/\.(?:jsonl?|project_root)$/.test(name))
      writeFileSync(path, readFileSync(path, 'utf8').replaceAll(RECORDED, to))
  }
}

function moveRows(path: string, to: string): void {
  const database = new DatabaseSync(path)
  const columns = `SELECT m.name AS "table", c.name AS "column" FROM sqlite_schema m JOIN pragma_table_info(m.name) c
    WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%'`
  for (const { table, column } of database.prepare(columns).all() as Record<string, string>[])
    database
      .prepare(
        `UPDATE "${table}" SET "${column}" = replace("${column}", ?1, ?2) WHERE instr("${column}", ?1)`,
      )
      .run(RECORDED, to)
  database.close()
}

/** What is asked, and who it was: null for somebody by hand. */
const asked: [what: string, maker: string | null][] = []

/** Commits in one go: a process for each would take most of the test's time. */
class History {
  #stream = ''
  readonly #makers: (string | null)[] = []

  commit(path: string, content: string, at: number, maker: string | null): void {
    this.#makers.push(maker)
    const data = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}\n`
    const when = `committer T <t@t> ${Math.floor(at / 1000)} +0000\n`
    this.#stream += `commit refs/heads/main\nmark :${this.#makers.length}\n${when}${data(path)}M 100644 inline ${path}\n${data(content)}`
  }

  write(): void {
    const marks = join(world.base, 'marks')
    const git = (args: string[], input = ''): string =>
      execFileSync('git', args, {
        cwd: repository,
        input,
        encoding: 'utf8',
        env: { PATH: process.env['PATH'], HOME: world.home },
      })
    git(['init', '-q', '-b', 'main'])
    git(['fast-import', '--quiet', `--export-marks=${marks}`], this.#stream)
    git(['reset', '-q', '--hard', 'main'])
    for (const line of readFileSync(marks, 'utf8').trim().split('\n')) {
      const [mark, sha] = line.slice(1).split(' ') as [string, string]
      asked.push([sha, this.#makers[Number(mark) - 1] as string | null])
    }
  }
}

function writeHistory(sessions: readonly Session[]): void {
  const history = new History()
  const endOf = ({ ended_at, started_at }: Session): number =>
    Date.parse(ended_at ?? started_at ?? '2026-11-17') + 1000
  const inTurn = [...sessions].sort((a, b) => endOf(a) - endOf(b))
  const apart = inTurn.filter((one) => one.cwd !== repository)
  const pathOf = ({ cwd }: Session): string => join((cwd as string).slice(repository.length + 1), 'calc.js')
  history.commit('README.md', 'By hand.\n', Date.parse('2026-11-15T10:00:00Z'), null)
  let notes = ''
  for (const session of inTurn) {
    const isApart = apart.includes(session)
    const path = isApart ? pathOf(session) : 'calc.js'
    history.commit(path, `${BROKEN}${isApart ? '' : notes}`, endOf(session) - 2000, null)
    history.commit(path, `${MENDED}${isApart ? '' : notes}`, endOf(session), session.session_uid)
    notes += `// looked at by hand, ${notes.length}\n`
  }
  history.write()
  for (const session of apart) asked.push([pathOf(session), session.session_uid])
  const last = inTurn.findLast((one) => one.cwd === repository)
  asked.push(['calc.js:3', last?.session_uid ?? null], ['calc.js:2', null])
}

async function makersOf(what: string): Promise<string[]> {
  let text = ''
  const stdout = vi.spyOn(streamOf(1), 'write').mockImplementation((words) => {
    text += String(words)
    return true
  })
  await showBlame(what, { json: true })
  stdout.mockRestore()
  const { made_by } = JSON.parse(text) as { made_by: { session_uid: string }[] }
  return made_by.map((one) => one.session_uid)
}

const before = { ...process.env }
const directory = process.cwd()
beforeAll(async () => {
  if (!hasGit) return
  mkdirSync(repository)
  for (const client of [...APART, ...TOGETHER]) {
    const tools = join(unpackAgent(client), 'tools')
    move(tools, APART.includes(client) ? join(repository, client) : repository)
    cpSync(tools, world.home, { recursive: true })
  }
  await world.sweep()
  world.read((handle) => writeHistory(listSessions(handle)))
  Object.assign(process.env, world.env)
  process.chdir(repository)
})
afterAll(() => {
  process.chdir(directory)
  for (const name of Object.keys(world.env)) {
    if (before[name] === undefined) delete process.env[name]
    else process.env[name] = before[name]
  }
  process.exitCode = undefined
  world.remove()
})

describe.skipIf(!hasGit)('blame in a repository of the recorded clients', () => {
  it('is right about every line and commit that it tells, and knows all that they made', async () => {
    const told: [what: string, makers: string[]][] = []
    for (const [what] of asked) told.push([what, await makersOf(what)])
    expect(told).toEqual(asked.map(([what, maker]) => [what, maker === null ? [] : [maker]]))
    expect(told.flatMap(([, makers]) => makers)).toHaveLength(2 * APART.length + TOGETHER.length + 1)
  })
})
