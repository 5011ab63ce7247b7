// The same stories for every client (stories.mjs): what the model was asked and answered is the truth, and what a memory holds of
// it must be the same, whether it was swept after every step or once at the end. What is known to be on no disk is said as such
// (losses.mjs); everything else is a failure.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { CLIENTS } from './clients.mjs'
import { differences } from './compare.mjs'
import { DIALECTS } from './dialects.mjs'
import { fingerprint } from './drift.mjs'
import { LOSSES } from './losses.mjs'
import { startModelServer } from './model-server.mjs'
import { clockShim, modulesOf, programs, run } from './running.mjs'
import { STORIES } from './stories.mjs'

const CLI = resolve(import.meta.dirname, '..', '..', 'dist', 'cli.cjs')
const ASIDE = 'an aside'
const BRANCH = 'feature/kingfisher'
const SECONDS = 300

export async function storiesOf(name, version, only) {
  let isGood = true
  for (const [story, tell] of Object.entries(STORIES)) {
    if (only.length > 0 && !only.includes(story)) continue
    const world = await worldOf(name, version, story)
    try {
      if ((await tell(world)) === false) continue
      isGood = (await judged(world, name, story)) && isGood
    } catch (error) {
      console.log(`FAIL ${name} ${story}: ${error.stack}`)
      isGood = false
    } finally {
      world.close()
    }
  }
  return isGood
}

async function judged(world, name, story) {
  const { base, flavor, project, branch, says, served } = world
  writeFileSync(join(base, 'truth.json'), JSON.stringify({ base, flavor, project, branch, says, served }))
  for (const note of world.notes) console.log(`note ${name} ${story}: ${note}`)
  const found = (await differences(world)).map((one) => one.replaceAll(world.base, '…').slice(0, 400))
  const failures = []
  for (const one of found) {
    const loss = (LOSSES[name] ?? []).find(([where, what]) => where.test(story) && what.test(one))
    if (!loss) failures.push(one)
    console.log(`${loss ? 'lost' : 'FAIL'} ${name} ${story}: ${one}${loss ? ` (${loss[2]})` : ''}`)
  }
  if (failures.length === 0) console.log(`ok   ${name} ${story}`)
  return failures.length === 0
}

async function worldOf(name, version, story) {
  const client = CLIENTS[name]
  const dialect = DIALECTS[name]
  const base = mkdtempSync(join(tmpdir(), `recollect-story-${name}-${story}-`))
  const home = join(base, 'home')
  const project = projectIn(home, story)
  for (const place of ['tmp', 'steps', 'once']) mkdirSync(join(base, place))
  const log = join(base, 'model.jsonl')
  writeFileSync(log, '')
  const world = {
    base,
    flavor: client.flavor ?? name,
    dialect,
    project,
    branch: BRANCH,
    says: [],
    served: [],
    notes: [],
  }
  const server = await startModelServer(answerer(world), log)
  world.close = () => server.close()
  client.settle(home, server.url)
  const [program, ...first] = client.program(modulesOf(name, version), programs)
  const path = [join(programs.node, '..'), process.env.PATH].join(':')
  const place = { HOME: home, TMPDIR: join(base, 'tmp'), LANG: 'C.UTF-8', TERM: 'dumb' }
  const env = { PATH: path, ...place, ...client.env(server.url) }
  world.recollect = async (memory, ...words) => {
    const own = { PATH: process.env.PATH, HOME: home, RECOLLECT_HOME: join(base, memory) }
    const ended = await run(process.execPath, [CLI, ...words, '--json'], own, base)
    return JSON.parse(ended.stdout || '{}')
  }
  world.sweep = async (memory) => {
    const before = fingerprint(home)
    const swept = await world.recollect(memory, 'sweep', '--flavor', world.flavor)
    const isQuiet = world.says.every((one) => one.isOver !== false)
    if (isQuiet && fingerprint(home) !== before) world.notes.push('files changed while they were read')
    return swept
  }
  world.last = () => world.lastId
  world.client = async (...words) => {
    const { code, stdout, stderr } = await run(program, [...first, ...words], env, project)
    if (code !== 0)
      world.notes.push(`${words.join(' ')}: exit ${code} ${(stderr || stdout).trim().slice(-160)}`)
    await world.sweep('steps')
  }
  const swept = async () => {
    await world.sweep('steps')
    const { sessions = [] } = await world.recollect('steps', 'sessions', '--flavor', world.flavor)
    return newest(sessions, world)
  }
  world.say = async (prompt, steps, options = {}) => {
    const one = { prompt, steps: [...steps], sub: {}, ...options, isOver: false }
    for (const [mark, answers] of Object.entries(options.sub ?? {})) one.sub[mark] = [...answers]
    world.says.push(one)
    // A client that forks without a prompt: what it made is then taken up.
    const copy = options.fork && dialect.copy
    if (copy) await world.client(...copy(options.fork))
    const resumed = copy ? await swept() : options.resume
    let words = client.run(prompt, home)
    for (const change of [
      options.words,
      resumed && dialect.resume?.(resumed),
      options.fork && dialect.fork?.(options.fork),
      options.continues && dialect.continue,
      options.model && dialect.model,
      options.deny && dialect.deny,
      options.plan && dialect.plan,
    ])
      if (change) words = change(words)
    const place = options.isEarlier ? { ...env, ...clockShim(2 * 3600) } : env
    const ended = await ranWith(program, [...first, ...words], place, project, one, world)
    if (ended.code !== 0 && !options.signal)
      world.notes.push(
        `${prompt}: exit ${ended.code} ${ended.output.trim().split('\n').at(-1)?.slice(0, 160)}`,
      )
    one.isOver = true
    one.code = ended.code
    one.session = await swept()
    world.lastId = one.session ?? world.lastId
  }
  return world
}

/** The session that is new, or else the one that went on last. */
function newest(sessions, world) {
  const own = sessions.filter((one) => !one.is_helper)
  const known = world.known ?? new Map()
  world.known = new Map(own.map((one) => [one.native_session_id, one.source_bytes]))
  const fresh = own.filter((one) => !known.has(one.native_session_id))
  const grown = own.filter((one) => known.get(one.native_session_id) !== one.source_bytes)
  return [...fresh, ...grown, ...own][0]?.native_session_id
}

/** A repository with a space and Han in its path; for the one story a worktree of it. */
function projectIn(home, story) {
  const main = join(home, 'my proj 项目')
  mkdirSync(main, { recursive: true })
  writeFileSync(join(main, 'heron.txt'), 'a bird\n')
  const git = (...words) =>
    spawnSync('git', ['-c', 'user.name=n', '-c', 'user.email=n@example.org', ...words], {
      cwd: main,
      env: { PATH: process.env.PATH, HOME: home },
    })
  git('init', '-q', '-b', story === 'worktree' ? 'main' : BRANCH)
  git('add', '.')
  git('commit', '-q', '-m', 'first')
  if (story !== 'worktree') return main
  git('worktree', 'add', '-q', '-b', BRANCH, join(home, 'wt of it'))
  return join(home, 'wt of it')
}

/** What clients do to a prompt on its way: quotes around it, backslashes before quotes. */
const bare = (text) => text.replace(/["'\\]/g, '')

/** What a client says that asks for an account of the conversation, in order to go on from there. */
const IN_SHORT = /summar|compact|condens|do not call any tools/i

function answerer(world) {
  const { says, served, dialect } = world
  const shell = dialect.shell('x').tool
  const answerOf = (asked) => {
    const text = bare(asked.prompt)
    const isIn = (prompt) => text.includes(bare(prompt).trim().slice(0, 12))
    const saying = says.filter((one) => !one.isOver)
    const sub = saying.flatMap((one) => Object.entries(one.sub)).find(([mark]) => text.includes(mark))
    const main = saying.find((one) => isIn(one.prompt))
    const isNamed = says.some((one) => bare(asked.last).includes(bare(one.prompt).trim()))
    const isSummary = saying.some((one) => one.mayCompact) && !isNamed && IN_SHORT.test(asked.last)
    // Who only plans has fewer tools.
    const isPlan = saying.some((one) => one.plan) && asked.tools.length > 0
    const isOwn = (asked.tools.includes(shell) || isPlan) && !isSummary
    if (sub && !main && isOwn) return ['sub', sub[1].shift() ?? { text: 'Nothing more below.' }, saying[0]]
    if (main && isOwn && main.steps.length > 0) return ['main', main.steps.shift(), main]
    return ['aside', { text: ASIDE }, saying[0]]
  }
  return (asked, id) => {
    const [queue, step, one] = answerOf(asked)
    const n = served.length + 1
    const usage = { input: 1000 + n, cacheRead: 2000 + n, output: 50 + n, ...step.usage }
    if (asked.api === '/messages') usage.cacheWrite = 300 + n
    served.push({
      id,
      queue,
      step,
      usage,
      model: asked.model,
      say: one,
      text: asked.prompt,
      tools: asked.tools.length,
    })
    if (step.hangs) one?.hung?.()
    return { ...step, usage }
  }
}

async function ranWith(program, words, env, cwd, one, world) {
  const child = spawn(program, words, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += chunk
    })
  const hit = (signal) => {
    try {
      process.kill(-child.pid, signal)
    } catch {
      // It ended by itself.
    }
  }
  const limit = setTimeout(() => {
    world.notes.push(`${one.prompt}: ended by us after ${SECONDS} s`)
    hit('SIGKILL')
  }, SECONDS * 1000)
  const ended = new Promise((done) => {
    child.once('error', (error) => done(error.code))
    child.once('close', (code, signal) => done(code ?? signal))
  })
  if (one.signal) {
    const mark = join(cwd, 'STARTED')
    const isThere =
      one.when === 'tool' ? until(() => existsSync(mark)) : new Promise((done) => (one.hung = done))
    await Promise.race([ended, isThere])
    await pause(700)
    await world.sweep('steps')
    hit(one.signal)
    const stopped = await Promise.race([ended.then(() => true), pause(15_000)])
    if (!stopped) world.notes.push(`${one.signal} did not end it: killed`)
    hit('SIGKILL')
    rmSync(mark, { force: true })
  }
  const code = await ended
  clearTimeout(limit)
  return { code, output }
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms))
async function until(isTrue) {
  for (let tries = 0; tries < SECONDS * 10 && !isTrue(); tries++) await pause(100)
}
