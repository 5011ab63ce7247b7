// The drift check: the newest release of each client does one small job, and what it wrote down is compared with what the model
// really said and with what our fixtures know. New kinds of records and new fields are printed; what is lost is a failure.
import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { CLIENTS } from './clients.mjs'
import { startModelServer } from './model-server.mjs'
import { modulesOf, programs, run } from './running.mjs'
import { newIn, shapesOf } from './shapes.mjs'

const ROOT = resolve(import.meta.dirname, '..', '..')
const CLI = join(ROOT, 'dist', 'cli.cjs')
const PROMPT = 'List the files here, then say the word kingfisher.'
const ANSWER = 'There is a heron.txt: kingfisher.'
const ASIDE = 'an aside'
const SHELL =
  /^_?(?:bash|shell|run_shell_command|execute|execute_command|run_commands?|developer__shell|shell_command|exec_command|run_terminal_command|run_terminal_cmd)$/i

/** Has a command run, then answers once. Titles, summaries and the like get a word of their own. */
function scripted() {
  let isAnswered = false
  return (asked) => {
    const tool = asked.tools.find((name) => SHELL.test(name))
    if (!tool || isAnswered || !asked.prompt.includes(PROMPT)) return { text: ASIDE }
    if (asked.results.length === 0) return { tool, input: inputFor(schemaOf(asked.body.tools, tool)) }
    isAnswered = true
    return { text: ANSWER }
  }
}

function schemaOf(tools, name) {
  const all = tools.flatMap((tool) => tool.functionDeclarations ?? tool.tools ?? [tool.function ?? tool])
  const { input_schema, parameters, parametersJsonSchema } = all.find((tool) => tool.name === name) ?? {}
  return input_schema ?? parameters ?? parametersJsonSchema ?? {}
}

/** Arguments that fit a schema, with the command in the field that is for one. */
function inputFor({ properties = {}, required = [] }) {
  const wanted = Object.keys(properties).filter(
    (name) => required.includes(name) || /^(command|cmd)$/.test(name),
  )
  return Object.fromEntries(wanted.map((name) => [name, valueFor(name, properties[name])]))
}

function valueFor(name, { type, enum: words, items }) {
  const kind = String([type].flat()[0] ?? 'string').toLowerCase()
  if (words) return words[0]
  if (kind === 'array') return [valueFor(name, items ?? {})]
  if (kind === 'object') return {}
  if (kind === 'boolean') return false
  if (kind === 'number' || kind === 'integer') return 10_000
  return /command|cmd|script/.test(name) ? 'ls -1' : 'list the files'
}

export async function driftOf(name, version, notes) {
  const client = CLIENTS[name]
  const flavor = client.flavor ?? name
  const base = mkdtempSync(join(tmpdir(), `recollect-drift-${name}-`))
  const say = (mark, text) => console.log(`${mark.padEnd(4)} ${name} ${version}: ${text}`)
  const failures = []
  const check = (what, isTrue, detail = '') => {
    if (!isTrue) failures.push(what)
    say(isTrue ? 'ok' : 'FAIL', detail && !isTrue ? `${what} (${detail})` : what)
  }
  for (const note of notes) say('note', note)
  const world = await ran(client, name, version, base)
  const { code, stderr, stdout, served } = world
  const isDone = code === 0 && served.some(({ answered }) => answered.text === ANSWER)
  check('the job is done', isDone, lastLine(stderr || stdout, code))
  if (!isDone) return false
  await compare({ ...world, base, flavor, check })
  drift(client, world.sources, base, flavor, version, say)
  return failures.length === 0
}

const lastLine = (text, code) => `${code} ${text.trim().split('\n').at(-1)?.slice(0, 200)}`

async function ran(client, name, version, base) {
  const [home, project, log] = [join(base, 'home'), join(base, 'home', 'proj'), join(base, 'model.jsonl')]
  mkdirSync(project, { recursive: true })
  mkdirSync(join(base, 'tmp'))
  writeFileSync(join(project, 'heron.txt'), 'a bird\n')
  writeFileSync(log, '')
  const server = await startModelServer(scripted(), log)
  try {
    client.settle(home, server.url)
    const [program, ...first] = client.program(modulesOf(name, version), programs)
    const path = [join(programs.node, '..'), process.env.PATH].join(':')
    const place = { HOME: home, TMPDIR: join(base, 'tmp'), LANG: 'C.UTF-8', TERM: 'dumb' }
    const env = { PATH: path, ...place, ...client.env(server.url) }
    const ended = await run(program, [...first, ...client.run(PROMPT, home)], env, project)
    const served = readFileSync(log, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
      .filter(({ id }) => id)
    return { ...ended, home, served, sources: [] }
  } finally {
    server.close()
  }
}

/** What a sweep finds, beside what was said. */
async function compare(world) {
  const { home, base, flavor, served, check } = world
  const env = { PATH: process.env.PATH, HOME: home, RECOLLECT_HOME: join(base, 'memory') }
  const ask = async (...words) =>
    JSON.parse((await run(process.execPath, [CLI, ...words, '--json'], env, base)).stdout || '{}')
  const before = fingerprint(home)
  const { roots = [] } = await ask('sweep', '--dry-run')
  if (!roots.some((root) => root.flavor === flavor)) return check('there is an adapter', false)
  const swept = await ask('sweep', '--flavor', flavor)
  check('nothing of the client is changed by reading it', fingerprint(home) === before)
  world.sources.push(...(swept.coverage ?? []).map(({ path }) => path))
  const unread = (swept.coverage ?? []).flatMap(({ gaps, unknown }) => [
    ...Object.keys(gaps),
    ...Object.keys(unknown),
  ])
  check('every record is understood', unread.length === 0, [...new Set(unread)].join(', '))
  const { sessions = [] } = await ask('sessions', '--flavor', flavor)
  check('a session is found', sessions.length > 0)
  const shown = []
  for (const { session_uid: uid } of sessions)
    shown.push(...((await ask('show', uid, '--payload')).events ?? []))
  const told = (kinds, text) =>
    shown.some((event) => kinds.includes(event.kind) && JSON.stringify(event.told ?? '').includes(text))
  check('the prompt is found', told(['user_msg'], PROMPT))
  check('the answer is found', told(['assistant_msg', 'completion'], ANSWER))
  const call = served.find(({ answered }) => answered.tool)
  check(
    'the call is found',
    shown.some(({ does }) => does === 'shell') && told(['tool_call', 'test_run', 'retry'], 'ls -1'),
    call?.answered.tool,
  )
  check('its result is found', told(['tool_result'], 'heron.txt'))
  const { total } = await ask('usage', '--flavor', flavor)
  const main = served.filter(({ answered }) => answered.text !== ASIDE).length
  const counts = (responses) =>
    total?.input_tokens === responses * 100 && total?.output_tokens === responses * 20
  const detail = `${total?.input_tokens} in, ${total?.output_tokens} out of ${main} and ${served.length - main} aside`
  check('tokens are those of the responses', counts(main) || counts(served.length), detail)
}

function drift(client, sources, base, flavor, version, say) {
  const known = shapesOf(knownSources(client, base, flavor))
  if (known.size === 0) return say('note', 'there are no fixtures to compare with')
  const { kinds, fields } = newIn(shapesOf(sources), known)
  if (version !== client.checked) say('NEW', `version (checked: ${client.checked})`)
  for (const kind of kinds) say('NEW', `record ${kind}`)
  for (const [field, of] of fields) say('NEW', `field ${field} of ${of.join(', ')}`)
  if (kinds.length + fields.length === 0) say('ok', 'no new records and no new fields')
}

/** The files of our fixtures that the adapter claims. */
function knownSources(client, base, flavor) {
  const directory = join(base, 'known')
  mkdirSync(directory)
  for (const name of client.fixtures) {
    const archive = [
      join(ROOT, 'test', 'fixtures', 'agents', `${name}.tgz`),
      join(ROOT, '..', 'shared', 'real-agents', `${name}.tar.gz`),
    ].find((path) => existsSync(path))
    if (archive) execFileSync('tar', ['-xzf', archive, '-C', directory])
  }
  const env = {
    PATH: process.env.PATH,
    HOME: join(base, 'nobody'),
    RECOLLECT_HOME: join(base, 'known-memory'),
  }
  mkdirSync(env.RECOLLECT_HOME)
  writeFileSync(
    join(env.RECOLLECT_HOME, 'config.toml'),
    `[sources.${flavor}]\nroots = [${JSON.stringify(directory)}]\n`,
  )
  const options = { env, encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] }
  let stdout = ''
  try {
    stdout = execFileSync(process.execPath, [CLI, 'sweep', '--flavor', flavor, '--json'], options)
  } catch (error) {
    // Gaps in what is known are no news.
    stdout = error.stdout
  }
  return (JSON.parse(stdout || '{}').coverage ?? []).map(({ path }) => path)
}

export function fingerprint(directory) {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  const lines = files.map((entry) => {
    const path = join(entry.parentPath ?? entry.path, entry.name)
    return `${path} ${statSync(path).mtimeMs} ${hash('sha1', readFileSync(path), 'hex')}`
  })
  return hash('sha1', lines.sort().join('\n'), 'hex')
}
