// Whether what is looked for is found: questions with known answers, as keywords, as sentences and mistyped, and questions
// that nothing answers. Over the recorded fixtures, and over ../shared/corpora where it is there (a sample of strangers'
// sessions, which are not printed).
//   npm run bench:retrieval [-- --memory DIR --misses]
import { execFileSync, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { answer, getDigest, listSessions, openMemory, searchSessions, storePaths } from '../dist/index.js'
import { CORPORA, FIXTURES, FRESH, LAST, LATER, NEGATIVE } from './retrieval-questions.mjs'

const option = (name, fallback) => {
  const at = process.argv.indexOf(name)
  return at === -1 ? fallback : process.argv[at + 1]
}
const showsMisses = process.argv.includes('--misses')
const here = (path) => fileURLToPath(new URL(path, import.meta.url))
const root = mkdtempSync(join(tmpdir(), 'recollect-retrieval-'))
process.on('exit', () => rmSync(root, { recursive: true, force: true }))
const corpora = [here('../../shared/corpora'), here('../../../shared/corpora')].find((path) =>
  existsSync(path),
)

const filesBelow = (directory) =>
  readdirSync(directory, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesBelow(join(directory, entry.name)) : [join(directory, entry.name)],
  )

/** Every packed session, where its agent would have put it. */
function unpackFixtures(home) {
  const packed = here('../test/fixtures/agents')
  for (const name of readdirSync(packed)) {
    const directory = join(root, 'unpacked', name)
    mkdirSync(directory, { recursive: true })
    execFileSync('tar', ['-xzf', join(packed, name), '-C', directory])
    for (const client of readdirSync(directory))
      for (const scenario of readdirSync(join(directory, client)))
        cpSync(join(directory, client, scenario), home, { recursive: true })
  }
}

const LAYOUT = {
  claude: (name, group) => join('.claude', 'projects', `-group-${group}`, name),
  codex: (name) => join('.codex', 'sessions', '2026', '01', '01', name),
  entire: (_, __, path) => path,
}

function unpackCorpora(home) {
  const groups = new Map()
  for (const flavor of Object.keys(LAYOUT)) {
    const directory = join(root, 'corpora')
    mkdirSync(directory, { recursive: true })
    execFileSync('tar', ['-xzf', join(corpora, `${flavor}.tar.gz`), '-C', directory])
    for (const path of filesBelow(join(directory, flavor))) {
      const group = groups.get(dirname(path)) ?? groups.size
      groups.set(dirname(path), group)
      const to = join(home, LAYOUT[flavor](basename(path), group, relative(directory, path)))
      mkdirSync(dirname(to), { recursive: true })
      copyFileSync(path, to)
    }
  }
}

function makeMemory(name, unpack) {
  const home = join(root, name)
  const memory = join(option('--memory', root), `${name}-memory`)
  if (!existsSync(memory)) {
    mkdirSync(home, { recursive: true })
    mkdirSync(memory, { recursive: true })
    unpack(home)
    writeFileSync(
      join(memory, 'config.toml'),
      `[sources.entire]\nroots = [${JSON.stringify(join(home, 'entire'))}]\n`,
    )
    const env = { ...process.env, HOME: home, RECOLLECT_HOME: memory }
    const swept = spawnSync(process.execPath, [here('../dist/cli.cjs'), 'sweep'], { env, encoding: 'utf8' })
    if (swept.status !== 0 && swept.status !== 4) throw new Error(swept.stderr)
  }
  return openMemory(storePaths(memory))
}

/** Two letters in the middle of the longest word have changed places; in a run of one letter, one is missing. */
function mistyped(query) {
  const [word] = (query.match(/[a-z]{5,}/gi) ?? []).toSorted((a, b) => b.length - a.length)
  if (word === undefined) return undefined
  const at = Math.floor(word.length / 2) - 1
  const swapped =
    word[at] === word[at + 1]
      ? word.slice(0, at) + word.slice(at + 1)
      : word.slice(0, at) + word[at + 1] + word[at] + word.slice(at + 2)
  return query.replace(word, swapped)
}

const WAYS = {
  'index, all words in one event': (handle, query) =>
    searchSessions(handle, query, { limit: 10 }).map((one) => ({ uids: [one.session.session_uid] })),
  'the whole answer': async (handle, query) =>
    (await answer(handle, query, { limit: 10 })).sessions.map((one) => ({
      uids: [one.session.session_uid, one.task_uid, ...one.also_in],
    })),
}

class Score {
  count = 0
  first = 0
  five = 0
  reciprocal = 0
  ms = 0

  add(rank, ms) {
    this.count++
    this.ms += ms
    if (rank === 0) this.first++
    if (rank !== -1 && rank < 5) this.five++
    if (rank !== -1) this.reciprocal += 1 / (rank + 1)
  }

  text() {
    const share = (value) => `${((value / this.count) * 100).toFixed(1).padStart(5)} %`
    return `${share(this.first)}  ${share(this.five)}  ${(this.reciprocal / this.count).toFixed(3)}   ${(this.ms / this.count).toFixed(0).padStart(4)} ms  of ${this.count}`
  }
}

/** The same questions in each form. */
const inForms = (items) => ({
  keywords: items.map(([answers, words]) => [answers, words]),
  sentences: items.map(([answers, , sentence]) => [answers, sentence]),
  mistyped: items.flatMap(([answers, words]) => {
    const slipped = mistyped(words)
    return slipped === undefined ? [] : [[answers, slipped]]
  }),
})

async function measure(name, handle, forms, isAnswer) {
  console.log(`\n${name}`)
  console.log(`${''.padEnd(42)}recall@1  recall@5  MRR     mean`)
  for (const [way, ask] of Object.entries(WAYS)) {
    const total = new Score()
    for (const [form, questions] of Object.entries(forms)) {
      const score = new Score()
      for (const [answers, query] of questions) {
        const begun = performance.now()
        const found = await ask(handle, query)
        const ms = performance.now() - begun
        const rank = found.findIndex(({ uids }) => uids.some((uid) => isAnswer(uid, answers)))
        score.add(rank, ms)
        total.add(rank, ms)
        if (showsMisses && rank !== 0 && way === 'the whole answer')
          console.log(`    ${rank === -1 ? 'missed' : `rank ${rank + 1}`}: ${query}`)
      }
      console.log(`  ${way.padEnd(30)} ${form.padEnd(9)}  ${score.text()}`)
    }
    console.log(`  ${way.padEnd(30)} ${'all'.padEnd(9)}  ${total.text()}`)
  }
}

async function measureNothing(handle) {
  for (const [way, ask] of Object.entries(WAYS)) {
    const wrong = []
    for (const query of NEGATIVE) if ((await ask(handle, query)).length > 0) wrong.push(query)
    console.log(
      `  ${way.padEnd(30)} nothing, where there is nothing: ${NEGATIVE.length - wrong.length} of ${NEGATIVE.length}`,
    )
    if (showsMisses) for (const query of wrong) console.log(`    found something: ${query}`)
  }
}

const fixtures = makeMemory('fixtures', unpackFixtures)
const prompts = new Map(
  listSessions(fixtures, { withSubagents: true }).map((one) => [
    one.session_uid,
    one.event_count === 0 ? '' : (getDigest(fixtures, one.session_uid).first_prompt ?? ''),
  ]),
)
await measure('recorded fixtures', fixtures, inForms(FIXTURES), (uid, starts) =>
  starts.some((start) => prompts.get(uid)?.startsWith(start)),
)
await measureNothing(fixtures)
fixtures.close()
if (corpora === undefined) console.log('\n../shared/corpora is not here: its questions are left out')
else {
  const handle = makeMemory('corpora', unpackCorpora)
  const isAnswer = (uid, starts) => starts.some((start) => uid.startsWith(start))
  await measure('../shared/corpora', handle, inForms(CORPORA), isAnswer)
  await measure('../shared/corpora, asked by another hand', handle, FRESH, isAnswer)
  await measure('../shared/corpora, asked by a third', handle, LATER, isAnswer)
  await measure('../shared/corpora, asked by the third after it was mended', handle, LAST, isAnswer)
  await measureNothing(handle)
  handle.close()
}
