// npm run test:agents: the real agents, from npm, against a scripted model. Needs the network for npm; the agents then run in a
// network namespace that has nothing but loopback, with a clean environment and a temporary home. Not part of CI: the programs
// are some GB.
//
//   node scripts/agents.mjs [claude codex grok] [--keep]   with our hooks and our MCP server, installed by the commands people use
//   node scripts/agents.mjs --drift [names] [--keep]       the newest release of each client, or name@version: what is new in
//                                                          what it writes
//   node scripts/agents.mjs --stories [names] [--only=a,b] [--keep]  the releases that were checked, through many scenarios:
//                                                          failures, interrupts, kills, forks, sub-agents, ...
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { checkAsked, failingAnswer, recallStory, TAG, wantedAfter } from './agents/asking.mjs'
import { CLIENTS } from './agents/clients.mjs'
import { driftOf } from './agents/drift.mjs'
import { startModelServer } from './agents/model-server.mjs'
import { cache, install, modulesOf, programs, run, versionsOf } from './agents/running.mjs'
import { storiesOf } from './agents/scenarios.mjs'

const CLI = resolve(import.meta.dirname, '..', 'dist', 'cli.cjs')
const args = process.argv.slice(2)
const isDrift = args.includes('--drift')
const isStories = args.includes('--stories')
const only = (args.find((word) => word.startsWith('--only='))?.slice('--only='.length) ?? '')
  .split(',')
  .filter(Boolean)
const INSIDE = '--inside='

/** [client, version, what is to be said of it] of those that can be run. */
function planned() {
  const wanted = args.map((word) => word.split('@')).filter(([name]) => CLIENTS[name])
  const all = Object.keys(CLIENTS).filter((name) => isDrift || isStories || CLIENTS[name].register)
  return (wanted.length > 0 ? wanted : all.map((name) => [name])).flatMap(([name, asked]) => {
    const { checked } = CLIENTS[name]
    const notes = []
    for (const version of asked ? [asked] : isDrift ? versionsOf(name) : [checked]) {
      const why = install(name, version)
      if (why === undefined) return [[name, version, notes]]
      notes.push(`${version} cannot be installed: ${why}`)
    }
    console.log(`skip ${name}: ${notes.join('; ')}`)
    return []
  })
}

const inside = args.find((word) => word.startsWith(INSIDE))
if (inside === undefined) {
  const plan = planned()
  const asRoot = process.getuid() === 0 ? [] : ['--map-root-user']
  const words = ['sh', '-c', 'ip link set lo up && exec "$@"', 'sh']
  const again = [process.execPath, ...process.argv.slice(1), `${INSIDE}${JSON.stringify(plan)}`]
  // Some clients leave a program running behind them: it ends with the namespace, before its files are removed.
  const spaces = [...asRoot, '--net', '--pid', '--fork', '--kill-child', '--mount-proc']
  const place = mkdtempSync(join(tmpdir(), 'recollect-agents-'))
  const options = { stdio: 'inherit', env: { ...process.env, TMPDIR: place, RECOLLECT_TEST_AGENTS: cache } }
  const { status, error } = spawnSync('unshare', [...spaces, ...words, ...again], options)
  if (error) console.error(`cannot make a network namespace: ${error.message}`)
  if (args.includes('--keep')) console.log(`kept ${place}`)
  else rmSync(place, { recursive: true, force: true, maxRetries: 5 })
  process.exit(status ?? 1)
}

async function tryClient(name, version) {
  const client = CLIENTS[name]
  const home = mkdtempSync(join(tmpdir(), `recollect-agents-${name}-`))
  const project = join(home, 'proj')
  mkdirSync(project)
  const log = join(home, 'model.jsonl')
  writeFileSync(log, '')
  const answer = (asked) =>
    failingAnswer(name, asked) ??
    (asked.prompt.includes('SEARCH') ? client.callTool(asked, wantedAfter(asked.results)) : undefined) ?? {
      text: `This is ${name}, done.`,
    }
  const server = await startModelServer(answer, log)
  const base = { PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8', TERM: 'dumb' }
  const [program, ...first] = client.program(modulesOf(name, version), programs)
  const agent = (...words) =>
    run(program, [...first, ...words], { ...base, ...client.env(server.url) }, project)
  const recollect = (...words) => run(process.execPath, [CLI, ...words], base, project)
  const sessions = async () => {
    const { code, stdout } = await recollect('sessions', '--json')
    return code === 0 ? JSON.parse(stdout).sessions : []
  }
  /** Sessions come by themselves: nobody here sweeps. */
  const appeared = async (count) => {
    for (const startedAt = Date.now(); Date.now() - startedAt < 60_000; ) {
      const all = await sessions()
      if (all.length >= count) return { all, ms: Date.now() - startedAt }
      await new Promise((done) => setTimeout(done, 250))
    }
    return { all: await sessions(), ms: Number.NaN }
  }
  const checks = []
  const check = (what, isTrue, detail = '') => {
    checks.push(isTrue)
    console.log(`${isTrue ? 'ok  ' : 'FAIL'} ${name}: ${what}${detail === '' ? '' : ` (${detail})`}`)
  }
  try {
    const requests = () =>
      readFileSync(log, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    await story({ name, client, home, server, agent, recollect, appeared, check, requests })
    if (client.recalls)
      await recallStory({
        ...{ name, client, agent, recollect, requests, check },
        remove: (file) => rmSync(join(project, file)),
        configure: (text) => writeFileSync(join(home, '.local', 'share', 'recollect', 'config.toml'), text),
      })
    const removed = await recollect('hooks', 'uninstall', '--agent', name)
    check('hooks are uninstalled', removed.code === 0)
  } finally {
    server.close()
    await sweepsEnded(join(home, '.local', 'share', 'recollect'), recollect)
  }
  return checks.every(Boolean)
}

async function story({ name, client, home, server, agent, recollect, appeared, check, requests }) {
  client.settle(home, server.url)
  const version = await agent('--version')
  check('runs', version.code === 0, version.stdout.trim())
  const installed = await recollect('hooks', 'install', '--agent', name)
  check('hooks are installed', installed.code === 0, installed.stderr.trim())
  const registered = await agent(...client.register([process.execPath, CLI, 'mcp', '--allow-write']))
  check(
    'the MCP server is registered',
    registered.code === 0,
    registered.code === 0 ? '' : registered.stderr.trim(),
  )
  const listed = await agent(...client.list)
  check('the MCP server is listed', listed.code === 0 && listed.stdout.includes('recollect'))

  const first = await agent(...client.run('Remember the zebra.'))
  check('a session runs', first.code === 0, first.code === 0 ? '' : `${first.code} ${first.stderr.trim()}`)
  check(
    'its hooks print nothing to the person',
    !/recollect-hook|hook (error|failed)/i.test(first.stdout + first.stderr),
  )
  const seen = await appeared(1)
  check(
    'the session appears without a manual sweep',
    seen.all.length === 1,
    `${seen.ms} ms after the agent ended`,
  )
  const uid = seen.all[0]?.session_uid

  const second = await agent(...client.run('SEARCH the memory for the zebra.'))
  check(
    'a second session runs',
    second.code === 0,
    second.code === 0 ? '' : `${second.code} ${second.stderr.trim()}`,
  )
  const asked = requests()
  check(
    'the model is told of the MCP server',
    asked.some(
      (one) =>
        JSON.stringify(one.body ?? '').includes('Memory of past coding-agent sessions') ||
        (one.tools ?? []).some((tool) => /recollect/.test(tool)),
    ),
  )
  const result = asked.flatMap((one) => one.results ?? []).find(({ text }) => text.includes(`${uid}#`))
  check('the search through MCP finds the first session', result !== undefined)

  checkAsked(asked, check)
  const { stdout: tagged } = await recollect('sessions', '--all', '--tag', TAG, '--json')
  check('the tag is found', tagged.includes(`"${TAG}"`))

  const both = await appeared(2)
  const later = both.all.find((one) => one.session_uid !== uid)
  check('the second session appears too', later !== undefined, `${both.ms} ms after the agent ended`)
  // The lines after the call may come with a later sweep.
  const shown = later ? await shownWith(recollect, later.session_uid, `${uid}#`) : ''
  check('its transcript holds the result of the call', shown.includes(`${uid}#`))
  const status = JSON.parse((await recollect('hooks', 'status', '--agent', name, '--json')).stdout).agents[0]
  check('the hooks are known to have fired', status.last_fired_at !== null, status.last_event)
}

async function shownWith(recollect, uid, text) {
  for (let tries = 0; tries < 60; tries++) {
    const { stdout } = await recollect('show', uid, '--json', '--payload')
    if (stdout.includes(text)) return stdout
    await new Promise((done) => setTimeout(done, 250))
  }
  return ''
}

/** A sweep that a hook started may still wait for its turn: it would find its memory gone, and make a new one. */
async function sweepsEnded(memory, recollect) {
  for (let tries = 0; tries < 120 && existsSync(join(memory, 'spool', 'nudged')); tries++)
    await new Promise((done) => setTimeout(done, 250))
  while ((await recollect('sweep')).code === 5) await new Promise((done) => setTimeout(done, 250))
}

const tried = (name, version, notes) =>
  isDrift
    ? driftOf(name, version, notes)
    : isStories
      ? storiesOf(name, version, only)
      : tryClient(name, version)

let isGood = true
for (const [name, version, notes] of JSON.parse(inside.slice(INSIDE.length)))
  isGood = (await tried(name, version, notes)) && isGood
process.exit(isGood ? 0 : 1)
