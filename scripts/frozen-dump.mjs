// A frozen dump: all that the built program makes of the sessions we have, as text that stays the same as long as the
// program does; see ARCHITECTURE.md. A file is a list of sections: a line that names one, then its text, indented. Of
// strangers' sessions (shared/corpora) there are ids, numbers and hashes only. Left out is what is new in every run, as
// volatile-columns.json lists it, and documents about the machine or the run (status, doctor, config, sweep).
import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { brotliDecompressSync } from 'node:zlib'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { DatabaseSync } from '@photostructure/sqlite'

const ROOT = resolve(import.meta.dirname, '..')
const CLI = join(ROOT, 'dist', 'cli.cjs')
const VOLATILE = JSON.parse(fs.readFileSync(join(import.meta.dirname, 'volatile-columns.json'), 'utf8'))
const VOLATILE_COLUMNS = Object.values(VOLATILE.columns).join(' ').split(' ')
const VOLATILE_TEXTS = Object.values(VOLATILE.texts).map((pattern) => new RegExp(pattern, 'g'))
const TABLES = "SELECT name, type FROM pragma_table_list WHERE schema = 'main' ORDER BY 1"
const DATABASES = { memory: 'memory.db', cache: 'cache/cache.db' }
/** What tells rows apart where the primary key is only a row number. */
const KEYS = { cached: ['session_uid'], events: ['session', 'seq'], sqlite_schema: ['type', 'name'] }
/** Row numbers that tables refer to, by what they stand for. */
const cachedSession = (column) => `(SELECT session_uid FROM cached WHERE id = t.${column})`
const MEANT = {
  'cache.session': cachedSession('session'),
  'cache.first': cachedSession('first'),
  'cache.second': cachedSession('second'),
  'cache.words': `(SELECT ${cachedSession('session')} || ' ' || seq FROM events t WHERE id = doc)`,
  'memory.session': '(SELECT session_uid FROM ledger_sessions WHERE number = t.session)',
  'memory.ledger.model': '(SELECT model FROM ledger_models WHERE number = t.model)',
  'memory.digest_words': '(SELECT session_uid FROM digest_texts WHERE id = doc)',
}
const QUERIES = ['the', 'test* -error']
const json = (value) => JSON.stringify(value, null, 1)
const digestOf = (text) => createHash('sha256').update(text).digest('hex').slice(0, 24)

/** A home as an agent left it, swept into a memory of its own, and the directory its dump goes to. */
class Subject {
  constructor(name, base, home, out) {
    Object.assign(this, { name, base, out: join(out, name), memory: join(base, 'memory', name) })
    this.isStrangers = name.startsWith('corpora/')
    this.env = { PATH: process.env.PATH, HOME: home, RECOLLECT_HOME: this.memory, LANG: 'C.UTF-8', TZ: 'UTC' }
    fs.mkdirSync(this.memory, { recursive: true, mode: 0o700 })
    fs.mkdirSync(this.out, { recursive: true })
    fs.writeFileSync(join(this.memory, 'redaction.key'), Buffer.alloc(32, 7), { mode: 0o600 })
    // A corpus lies as it was published, not where its agent would have put it.
    if (this.isStrangers)
      fs.writeFileSync(join(this.memory, 'config.toml'), `[sources.${basename(name)}]\nroots = ["${home}"]\n`)
  }

  same = (text) => {
    const placed = text.replaceAll(this.base, '<base>')
    return VOLATILE_TEXTS.reduce((done, pattern) => done.replaceAll(pattern, '$1<volatile>'), placed)
  }

  /** `work` gets a function that writes a section of the file of this kind. */
  async file(kind, work) {
    const file = fs.openSync(join(this.out, `${kind}.txt`), 'w')
    await work((name, text) => {
      const said = this.same(text)
      const body = this.isStrangers && kind !== 'tables' ? `${digestOf(said)} ${said.length}` : said
      fs.writeSync(file, `${this.same(name)}\n\t${body.replaceAll('\n', '\n\t')}\n`)
    })
    fs.closeSync(file)
  }

  /** What the program prints; how it ended, where that says more. */
  async run(...args) {
    const options = { env: this.env, maxBuffer: 1 << 29 }
    const ended = await promisify(execFile)(process.execPath, [CLI, ...args], options).catch((error) => error)
    return ended.code ? `${ended.stdout}\nexit code ${ended.code}\n${ended.stderr}` : ended.stdout
  }
}

/** Of strangers only numbers, hashes and names of sessions. */
function shown({ isStrangers, same }, column, value) {
  const text = column === 'state' && value instanceof Uint8Array ? `${brotliDecompressSync(value)}` : value
  if (text instanceof Uint8Array) return Buffer.from(text).toString('hex')
  const isOpen = !isStrangers || typeof text !== 'string' || /^session|_uid$|^first$|^second$/.test(column)
  return isOpen ? text : digestOf(same(text))
}

function dumpTable(subject, database, of, table, write) {
  const columns = database
    .prepare(`SELECT name, pk FROM pragma_table_info('${table}') ORDER BY pk, cid`)
    .all()
  const kept = columns.filter(({ name }) => !VOLATILE_COLUMNS.includes(`${table}.${name}`))
  if (kept.length === 0) return
  const primary = kept.filter(({ pk }) => pk > 0)
  const keys = KEYS[table] ?? (primary.length > 0 ? primary : kept).map(({ name }) => name)
  const meant = (name) => MEANT[`${of}.${table}.${name}`] ?? MEANT[`${of}.${name}`] ?? `t."${name}"`
  const picked = kept.map(({ name }) => `${meant(name)} AS "${name}"`)
  const sql = `SELECT ${picked} FROM "${table}" t ORDER BY ${keys.map((name) => `"${name}"`)}`
  for (const row of database.prepare(sql).iterate()) {
    const lines = kept.map(({ name }) => `${name}: ${JSON.stringify(shown(subject, name, row[name]))}`)
    const key = keys.map((name) => shown(subject, name, row[name]))
    write([`${of}.${table}`, ...key].join(' ').replaceAll('\n', ' '), lines.join('\n'))
  }
}

/** A full-text index is dumped by its words: in which pieces SQLite keeps them does not matter. */
function dumpIndex(database, of, table, write) {
  database.exec(`CREATE VIRTUAL TABLE temp.words_of_${table} USING fts5vocab('main', '${table}', 'instance')`)
  const found = `SELECT ${MEANT[`${of}.${table}`]} AS owner, col || offset || term AS word FROM temp.words_of_${table}`
  const sql = `SELECT owner, count(*) AS count, group_concat(word ORDER BY word) AS words FROM (${found}) GROUP BY 1`
  for (const { owner, count, words } of database.prepare(sql).iterate())
    write(`${of}.${table} ${owner}`, `${count} words ${digestOf(words)}`)
}

function dumpTables(subject, write) {
  for (const [of, path] of Object.entries(DATABASES)) {
    const database = new DatabaseSync(join(subject.memory, path), { readOnly: true })
    for (const { name, type } of database.prepare(TABLES).all())
      if (type === 'table') dumpTable(subject, database, of, name, write)
      else if (type === 'virtual') dumpIndex(database, of, name, write)
    database.close()
  }
}

function dumpBodies(cache, { payload }, write) {
  const hashes = cache.prepare('SELECT lower(hex(hash)) AS hash FROM payloads ORDER BY 1').iterate()
  for (const { hash } of hashes) write(hash, payload(hash) ?? 'cannot be read')
}

async function dumpDocuments(subject, uids, days, write) {
  const pretty = (text) => (/\nexit code /.test(text) ? text : json(JSON.parse(text)))
  const document = async (...args) => write(args.join(' '), pretty(await subject.run(...args, '--json')))
  for (const uid of uids) {
    await document('digest', uid)
    const { events, ...head } = JSON.parse(await subject.run('show', uid, '--json', '--payload'))
    write(`show ${uid}`, json(head))
    for (const event of events) write(`show ${uid}#${event.seq}`, json(event))
    write(`show --full ${uid}`, await subject.run('show', uid, '--full'))
  }
  for (const command of ['sessions', 'lineage', 'patterns']) await document(command, '--limit', '100000')
  for (const query of QUERIES) await document('search', query)
  for (const group of ['day', 'session']) await document('usage', group)
  if (days.length > 0) await document('retro', '--since', days[0], '--until', days.at(-1))
}

async function dumpExports(subject, write) {
  for (const format of ['md', 'html', 'jsonl', 'atif', 'otlp']) {
    const directory = join(subject.memory, 'exported', format)
    write(format, await subject.run('export', '--all', '--format', format, '--out', `${directory}/`))
    // Helper conversations are not exported: where there is nothing else, there are no files.
    for (const name of fs.existsSync(directory) ? fs.readdirSync(directory).sort() : [])
      write(`${format} ${name}`, fs.readFileSync(join(directory, name), 'utf8'))
  }
}

/** The answers an agent gets, each page of them. */
async function dumpAnswers(subject, uids, samples, write) {
  const client = new Client({ name: 'dump', version: '1' })
  const server = { command: process.execPath, args: [CLI, 'mcp'], env: subject.env, cwd: '/' }
  await client.connect(new StdioClientTransport({ ...server, stderr: 'ignore' }))
  const ask = async (label, name, asked) => {
    for (let cursor, page = 1; page === 1 || cursor !== undefined; page++) {
      const args = cursor === undefined ? asked : { ...asked, cursor }
      const { content, structuredContent: data, isError } = await client.callTool({ name, arguments: args })
      write(`${name} ${label} page ${page}`, json({ content, data, isError }))
      cursor = data?.next_cursor
    }
  }
  write('tools', json(await client.listTools()))
  for (const name of ['session', 'patterns']) await ask('', name, {})
  for (const id of uids) {
    for (const name of ['digest', 'lineage', 'session']) await ask(id, name, { id })
    for (const seq of [2, 10, 50, 250]) {
      await ask(`${id}#${seq}`, 'context', { id: `${id}#${seq}` })
      await ask(`${id}#${seq} whole`, 'context', { id: `${id}#${seq}`, before: 0, after: 0 })
    }
    await ask(`in ${id}`, 'search', { query: 'the', session: id })
  }
  for (const query of QUERIES) await ask(query, 'search', { query, repo: '*' })
  for (const by of 'day week month session model repo domain flavor'.split(' '))
    await ask(by, 'usage', { by })
  for (const error of samples) await ask(digestOf(error), 'patterns', { error })
  for (const text of [...QUERIES, ...samples]) await ask(digestOf(text), 'recall', { text })
  await client.close()
}

async function dumpSubject(subject) {
  await subject.run('sweep')
  const { openMemory, storePaths } = await import(join(ROOT, 'dist', 'index.js'))
  const handle = openMemory(storePaths(subject.memory))
  const open = (path) => new DatabaseSync(join(subject.memory, path), { readOnly: true })
  const [memory, cache] = [open('memory.db'), open('cache/cache.db')]
  const values = (what) =>
    Array.from(memory.prepare(`SELECT DISTINCT ${what} ORDER BY 1`).iterate(), (row) => row.value)
  const uids = values('session_uid AS value FROM sessions')
  const days = values("date(started_at / 1000, 'unixepoch') AS value FROM sessions WHERE started_at > 0")
  const samples = values('sample AS value FROM failures')
  await subject.file('tables', (write) => dumpTables(subject, write))
  await subject.file('bodies', (write) => dumpBodies(cache, handle, write))
  for (const one of [handle, memory, cache]) one.close()
  if (uids.length > 0) {
    await subject.file('documents', (write) => dumpDocuments(subject, uids, days, write))
    await subject.file('exports', (write) => dumpExports(subject, write))
    await subject.file('answers', (write) => dumpAnswers(subject, uids, samples, write))
  }
  fs.rmSync(subject.memory, { recursive: true })
  return uids
}

/** Packed sessions by name: of this repository, and of `shared` beside the checkout. A client that is in both is the same. */
function archives() {
  const found = {}
  for (const directory of ['../shared/corpora', '../shared/real-agents', 'test/fixtures/agents'])
    for (const file of fs.existsSync(join(ROOT, directory)) ? fs.readdirSync(join(ROOT, directory)) : []) {
      const [name, end] = file.split(/\.(?=tgz$|tar\.gz$)/)
      if (end) found[directory.endsWith('corpora') ? `corpora/${name}` : name] = join(ROOT, directory, file)
    }
  return Object.entries(found).sort()
}

async function dump(out, only) {
  if (!relative(ROOT, out).startsWith('..') || (fs.existsSync(out) && fs.readdirSync(out).length > 0))
    throw new Error(`${out}: an empty directory outside of the checkout is needed`)
  const base = fs.mkdtempSync(join(fs.realpathSync(tmpdir()), 'recollect-dump-'))
  process.once('exit', () => fs.rmSync(base, { recursive: true, force: true }))
  process.once('SIGINT', () => process.exit(130))
  const isBelow = (name, other) => `${name}/`.startsWith(`${other}/`)
  for (const [client, archive] of archives()) {
    if (only && !only.some((one) => isBelow(one, client) || isBelow(client, one))) continue
    execFileSync('tar', ['-xzf', archive, '-C', base])
    const homes = join(base, basename(client))
    const scenarios = client.startsWith('corpora/') ? [''] : fs.readdirSync(homes).sort()
    const waiting = scenarios.filter((one) => only?.some((name) => isBelow(join(client, one), name)) ?? true)
    const sessions = []
    const work = async () => {
      for (let one = waiting.shift(); one !== undefined; one = waiting.shift())
        sessions.push(...(await dumpSubject(new Subject(join(client, one), base, join(homes, one), out))))
    }
    await Promise.all(Array.from({ length: availableParallelism() }, work))
    fs.rmSync(homes, { recursive: true })
    console.log(`${client}: ${sessions.length} sessions`)
  }
}

function sections(path) {
  const text = fs.existsSync(path) ? fs.readFileSync(path, 'utf8') : ''
  const parts = text.split(/\n(?!\t)/).filter(Boolean)
  return new Map(parts.map((part) => [part.split('\n', 1)[0], part.slice(part.indexOf('\n') + 2)]))
}

/** Where a section differs first, and how; of strangers only in which column. */
function example(where, before, after) {
  if (before === undefined || after === undefined)
    return `${where}: only ${after === undefined ? 'before' : 'after'}`
  let at = 0
  while (at < before.length && before[at] === after[at]) at++
  const column = /(?:^|\t)(\w+): [^\n]*$/.exec(before.slice(0, at))?.[1]
  if (where.startsWith('corpora/')) return column === undefined ? where : `${where}: ${column}`
  const near = (text) => JSON.stringify(text.slice(Math.max(0, at - 30), at + 70))
  return `${where}\n      - ${near(before)}\n      + ${near(after)}`
}

/** How many sections of each kind differ, with the first of them. */
function compare(before, after) {
  const files = [before, after].flatMap((root) => fs.readdirSync(root, { recursive: true }))
  const kinds = {}
  for (const file of new Set(files.filter((one) => one.endsWith('.txt')).sort())) {
    const [old, now] = [sections(join(before, file)), sections(join(after, file))]
    for (const name of new Set([...old.keys(), ...now.keys()])) {
      const [from, to] = [old.get(name), now.get(name)]
      const kind = file.endsWith('bodies.txt') ? 'bodies' : `${basename(file, '.txt')} ${name.split(' ')[0]}`
      kinds[kind] ??= { all: 0, changed: 0, gone: 0, added: 0, examples: [] }
      const seen = kinds[kind]
      seen.all++
      if (from === to) continue
      seen[from === undefined ? 'added' : to === undefined ? 'gone' : 'changed']++
      if (seen.examples.length < 3) seen.examples.push(example(`${dirname(file)}: ${name}`, from, to))
    }
  }
  const differing = Object.entries(kinds).filter(([, one]) => one.examples.length > 0)
  for (const [kind, { all, changed, gone, added, examples }] of differing)
    console.log(
      `${kind}: of ${all} ${changed} changed, ${gone} gone, ${added} added\n    ${examples.join('\n    ')}`,
    )
  console.log(`${differing.length} of ${Object.keys(kinds).length} kinds differ`)
  return differing.length === 0
}

const options = { compare: { type: 'boolean' }, only: { type: 'string', multiple: true } }
const { values, positionals } = parseArgs({ allowPositionals: true, options })
if (positionals.length !== (values.compare ? 2 : 1))
  throw new Error('DIRECTORY [--only CLIENT[/SCENARIO]]... or --compare BEFORE AFTER is needed')
if (values.compare) process.exitCode = compare(...positionals) ? 0 : 1
else await dump(resolve(positionals[0]), values.only)
