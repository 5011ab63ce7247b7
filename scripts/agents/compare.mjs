// What was said to a client and what a memory holds of it, line by line.

const CALLS = ['tool_call', 'test_run', 'retry', 'delegation', 'edit', 'commit']
const RUNNING = /sleep 20|SUBTASK-A: sleep/

export async function differences(world) {
  const { says, served, flavor } = world
  const swept = await world.sweep('once')
  const [once, steps] = [await told(world, 'once'), await told(world, 'steps')]
  const unread = (swept.coverage ?? []).flatMap(({ gaps, unknown }) => [
    ...Object.keys(gaps),
    ...Object.keys(unknown),
  ])
  return [
    ...says
      .filter(({ steps }) => steps.length > 0)
      .filter(({ signal, code }) => !signal && code === 0)
      .map(({ prompt, steps }) => `${steps.length} answers were not asked for: ${prompt}`),
    ...[...new Set(unread)].map((one) => `not understood: ${one}`),
    ...(once.sessions.length === 0 ? [`no session of ${flavor}`] : []),
    ...promptDifferences(world, once),
    ...answerDifferences(served, once.events),
    ...callDifferences(served, once.events),
    ...tokenDifferences(served, once.total),
    ...placeDifferences(world, once),
    ...lineageDifferences(world, once),
    ...interruptDifferences(says, once.events),
    ...stepDifferences(once, steps),
  ]
}

async function told(world, memory) {
  const { sessions = [] } = await world.recollect(memory, 'sessions', '--all', '--flavor', world.flavor)
  const events = []
  for (const one of sessions) {
    const shown = await world.recollect(memory, 'show', one.session_uid, '--payload')
    for (const event of shown.events ?? []) events.push({ ...event, session: one })
  }
  const { total } = await world.recollect(memory, 'usage', '--flavor', world.flavor)
  const { nodes = [] } = await world.recollect(memory, 'lineage', '--flavor', world.flavor)
  return { sessions, events, total, nodes }
}

/** Without those of sub-agents. */
const ownOf = (sessions, nodes) =>
  sessions.filter(
    ({ session_uid, is_helper }) =>
      !is_helper && !nodes.some((one) => one.session_uid === session_uid && one.edge?.kind === 'subagent'),
  )

const saidBy = (events, ...kinds) =>
  events
    .filter((event) => kinds.includes(event.kind) && !event.is_inherited && !event.is_superseded)
    .map((event) => (event.told?.said ?? '').trim())

function promptDifferences({ says, served }, { events, sessions, nodes }) {
  const roots = ownOf(sessions, nodes).map((one) => one.session_uid)
  const own = events.filter((event) => roots.includes(event.session.session_uid) && !event.is_sidechain)
  const found = saidBy(own, 'user_msg', 'human_intervention')
  // A client that did not even ask has failed by itself.
  const asked = says.filter((one) => one.code === 0 || one.signal || served.some(({ say }) => say === one))
  const wanted = asked.filter(({ isCommand }) => !isCommand).map(({ prompt }) => prompt.trim())
  const all = says.map(({ prompt }) => prompt.trim())
  return [
    ...miscounted('prompt', wanted, found),
    ...saidBy(
      own.filter(({ role }) => role === 'user'),
      'user_msg',
    )
      .filter((text) => !all.includes(text))
      .map((text) => `prompt that nobody wrote: ${JSON.stringify(text.slice(0, 120))}`),
  ]
}

const isWhole = ({ step, queue }) => queue !== 'aside' && !isHalf(step) && !step.status
const isHalf = (step) => step.hangs || step.cuts

/** What was said once is there once, what was said three times three times. */
const miscounted = (what, wanted, found) =>
  [...new Set(wanted)].flatMap((text) => {
    const count = (texts) => texts.filter((one) => one === text).length
    return count(found) === count(wanted)
      ? []
      : [`${what} is found ${count(found)} of ${count(wanted)} times: ${text}`]
  })

function answerDifferences(served, events) {
  const answers = saidBy(events, 'assistant_msg', 'completion')
  const thoughts = saidBy(events, 'thinking')
  const texts = (name) => served.filter(isWhole).flatMap(({ step }) => step[name]?.trim() || [])
  const isOurs = (text) =>
    served.some(({ step }) => (isHalf(step) ? step.text?.startsWith(text) : step.text?.trim() === text)) ||
    text === 'an aside'
  return [
    ...miscounted('answer', texts('text'), answers),
    ...miscounted('thought', texts('thinking'), thoughts),
    ...answers
      .filter((text) => text && !isOurs(text))
      .map((text) => `answer that nobody gave: ${JSON.stringify(text.slice(0, 120))}`),
  ]
}

function callDifferences(served, events) {
  return served
    .filter(isWhole)
    .flatMap(({ id, step, say }) =>
      (step.calls ?? []).flatMap((call, at) => callDifference(call, call.id ?? `${id}x${at}`, say, events)),
    )
}

function callDifference({ tool, input, isWrong, mayFail, id: own }, id, say, events) {
  const what = `${tool} ${JSON.stringify(input)}`
  const name = tool.replace(/^_/, '')
  // An id that a server gives again is none: then the words of the call name it, and the next result is its own.
  const words = own === undefined ? id : (input.command ?? input.commands[0])
  // Sub-agents may be called by the id of the call that began them.
  const bodyOf = ({ payload }) => JSON.stringify({ ...payload, agentId: 0, parentToolCallId: 0 })
  const of = events.filter(
    (event) => event.tool === name && !event.is_inherited && bodyOf(event).includes(words),
  )
  const calls = of.filter((event) => event.role === 'assistant' && (CALLS.includes(event.kind) || event.does))
  // Where a result does not name its call, they follow each other.
  const isOf = (role) => (event) =>
    event.role === role && event.tool === name && !event.is_inherited && event.session === calls[0]?.session
  const place = events.filter(isOf('assistant')).indexOf(calls[0])
  const next = events.slice(events.indexOf(calls[0]) + 1, events.indexOf(calls[0]) + 2).filter(isOf('tool'))
  const named = own === undefined ? of.filter(({ role }) => role === 'tool') : []
  const inTurn =
    own === undefined && next.length > 0 ? next : events.filter(isOf('tool')).slice(place, place + 1)
  const exit = Number(/exit (\d+)/.exec(what)?.[1] ?? 0)
  const fitting =
    own === undefined ? undefined : events.filter(isOf('tool')).find((one) => one.exit_code === exit)
  const ends = fitting ? [fitting] : named.length > 0 ? named : inTurn
  if (calls.length !== 1) return [`call is found ${calls.length} times: ${what}`]
  const wasStopped = RUNNING.test(what) && say?.signal
  if (mayFail && ends.length > 0) return []
  if (ends.length === 0) return wasStopped ? [] : [`result is not found: ${what}`]
  if (ends.length > 1 && ends[0].state !== 'background')
    return [`result is found ${ends.length} times: ${what}`]
  const end = ends.at(-1)
  if (end.state === 'background') return []
  const fails = isWrong || exit > 0 || /missing\.txt|nothing of the kind|#0000/.test(what)
  const lines = []
  const does = calls[0].does
  const wanted = /SUBTASK/.test(what)
    ? 'spawn'
    : /^(?:rm|.*"(?:command|cmd|commands)")/.test(what)
      ? 'shell'
      : does
  if (does === null || (does !== wanted && !isWrong)) lines.push(`call does ${does}, not ${wanted}: ${what}`)
  if (wasStopped) {
    if (!['stopped', 'cut', 'failed', 'refused'].includes(end.state))
      lines.push(`stopped call ends as ${end.state}: ${what}`)
  } else if (say?.deny) {
    if (end.state !== 'refused') lines.push(`denied call ends as ${end.state}: ${what}`)
  } else {
    if (end.state !== (fails ? 'failed' : 'ok')) lines.push(`call ends as ${end.state}: ${what}`)
    if (does === 'shell' && !isWrong && end.exit_code !== exit && !/missing/.test(what))
      lines.push(`exit code is ${end.exit_code}, not ${exit}: ${what}`)
  }
  return lines
}

const COUNTERS = [
  ['input', 'input_tokens'],
  ['cacheRead', 'cache_read_tokens'],
  ['cacheWrite', 'cache_write_5m_tokens'],
  ['output', 'output_tokens'],
]

/** Asides may be counted (titles, accounts of what was said), and of an answer that was cut off what its first event said. */
function tokenDifferences(served, total) {
  const counted = served.filter(({ step }) => !step.status && !step.uncounted)
  const own = sumOf(counted.filter((one) => one.queue !== 'aside' && !isHalf(one.step)))
  const more = [
    ...counted.filter((one) => one.queue === 'aside' && !isHalf(one.step)).map(({ usage }) => usage),
    ...counted.filter(({ step }) => isHalf(step)).map(({ usage }) => ({ ...usage, output: 1 })),
  ].slice(0, MAX_ASIDES)
  const found = Object.fromEntries(COUNTERS.map(([name, column]) => [name, total?.[column] ?? 0]))
  found.cacheWrite += total?.cache_write_1h_tokens ?? 0
  const sums = Array.from({ length: 2 ** more.length }, (_, chosen) =>
    sumOf([{ usage: own }, ...more.filter((__, at) => chosen & (1 << at)).map((usage) => ({ usage }))]),
  )
  if (sums.some((sum) => COUNTERS.every(([name]) => sum[name] === found[name]))) return []
  const all = ({ input, cacheRead, cacheWrite }) => input + cacheRead + cacheWrite
  if (sums.some((sum) => found.input === all(sum) && found.cacheRead === 0 && found.output === sum.output))
    return ['tokens: what came from a cache is not told apart']
  const bad = COUNTERS.filter(([name]) => own[name] !== found[name])
  return [`tokens: ${bad.map(([name]) => `${name} ${found[name]} of ${own[name]}`).join(', ')}`]
}

const MAX_ASIDES = 12

const sumOf = (all) =>
  Object.fromEntries(
    COUNTERS.map(([name]) => [name, all.reduce((sum, { usage }) => sum + (usage[name] ?? 0), 0)]),
  )

function placeDifferences({ project, branch, served }, { sessions, nodes }) {
  const own = ownOf(sessions, nodes)
  const models = served.filter(({ queue }) => queue === 'main').map(({ model }) => model)
  const lines = own.flatMap((one) => [
    ...(one.cwd === project ? [] : [`cwd is ${one.cwd}`]),
    ...(one.repo === 'my proj 项目' ? [] : [`repo is ${one.repo}`]),
    ...(one.git_branch === branch ? [] : [`branch is ${one.git_branch}`]),
    ...(models.some((model) => one.model?.endsWith(model))
      ? []
      : [`model is ${one.model}, not ${models.at(-1)}`]),
    ...(one.title ? [] : ['no title']),
  ])
  return [...new Set(lines)]
}

function lineageDifferences({ says, served }, { sessions, nodes, events }) {
  const own = ownOf(sessions, nodes)
  const begun = says.filter(
    (one) =>
      !one.resume &&
      !one.continues &&
      !one.isCommand &&
      (one.code === 0 || served.some(({ say }) => say === one)),
  )
  const lines = own.length === begun.length ? [] : [`${own.length} sessions, not ${begun.length}`]
  for (const { fork, session, prompt } of says.filter((one) => one.fork)) {
    const node = nodes.find((one) => one.session_uid.endsWith(session ?? '-'))
    if (!node?.parent_uid?.endsWith(fork) || !/fork/.test(node.edge?.kind))
      lines.push(
        `"${prompt}" is ${node?.edge?.kind ?? 'no fork'} of ${node?.parent_uid}, not a fork of ${fork}`,
      )
  }
  const subs = new Set(
    served.filter(({ queue }) => queue === 'sub').map(({ text }) => /SUBTASK-\w/.exec(text)?.[0]),
  )
  const below = new Set([
    ...nodes.filter((one) => one.edge?.kind === 'subagent').map((one) => one.session_uid),
    ...events.flatMap((event) => (event.is_sidechain ? `${event.session.session_uid} ${event.agent}` : [])),
  ])
  if (below.size !== subs.size) lines.push(`${below.size} sub-agents, not ${subs.size}`)
  const asked = new Set(
    events
      .filter((event) => event.kind === 'user_msg')
      .flatMap((event) => /SUBTASK-\w/.exec(event.told?.said ?? '')?.[0] ?? []),
  )
  void asked
  return lines
}

function interruptDifferences(says, events) {
  const isTold = events.some(
    ({ kind, mark, state }) =>
      mark === 'interrupt' || state === 'stopped' || (kind === 'human_intervention' && mark !== 'denied'),
  )
  if (says.some(({ signal }) => signal === 'SIGINT')) return isTold ? [] : ['no interrupt is told']
  return isTold ? ['an interrupt that nobody made'] : []
}

/** In steps as at once, but for when it was read. */
function stepDifferences(once, steps) {
  const lines = []
  const of = ({ sessions }) =>
    sessions.map(({ ingested_at, analyzed_at, host, host_id, user, ...rest }) => JSON.stringify(rest)).sort()
  const [a, b] = [of(once), of(steps)]
  for (const one of a.filter((line) => !b.includes(line))) {
    const other = b.find((line) => JSON.parse(line).session_uid === JSON.parse(one).session_uid)
    lines.push(
      `session is other when read in steps: ${other ? fieldsOf(JSON.parse(one), JSON.parse(other)) : 'not there'}`,
    )
  }
  const rows = ({ events }) =>
    events
      .map(({ kind, role, tool, told, state, exit_code, is_superseded, is_inherited, session }) =>
        JSON.stringify([
          session.session_uid,
          kind,
          role,
          tool,
          told,
          state,
          exit_code,
          is_superseded,
          is_inherited,
        ]),
      )
      .sort()
  const [c, d] = [rows(once), rows(steps)]
  for (const [name, more] of [
    ['at once', surplus(c, d)],
    ['in steps', surplus(d, c)],
  ])
    for (const row of more.slice(0, 5)) lines.push(`only when read ${name}: ${row.slice(0, 300)}`)
  if (JSON.stringify(once.total) !== JSON.stringify(steps.total))
    lines.push('usage is other when read in steps')
  return lines
}

const fieldsOf = (a, b) =>
  Object.keys(a)
    .filter((name) => JSON.stringify(a[name]) !== JSON.stringify(b[name]))
    .map((name) => `${name} ${JSON.stringify(b[name])}, not ${JSON.stringify(a[name])}`)
    .join('; ')

function surplus(a, b) {
  const rest = [...b]
  return a.filter((one) => {
    const at = rest.indexOf(one)
    if (at >= 0) rest.splice(at, 1)
    return at < 0
  })
}
