// The hook handler, a program of its own (dist/recollect-hook.cjs): reads what the agent says on stdin, appends one line
// to the spool, makes sure that a sweep will come, and ends. An agent waits for it, so: nothing is loaded that is not
// needed, nothing is printed, nothing is waited for, and the exit code is 0 whatever happens. Only of events that a person
// asked to be answered (`recall.hook`, `budget`) the program itself is asked, for a bounded time.
import { spawn, spawnSync } from 'node:child_process'
import { closeSync, constants, fstatSync, openSync, statSync, utimesSync, writeSync } from 'node:fs'
import { connect } from 'node:net'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { makeDirectories } from '../files/directory.ts'
import {
  AGENT,
  LINES,
  MAX_PATH_LENGTH,
  MAX_SPOOL_BYTES,
  NUDGED,
  SOCKET,
  SPOOL,
  type SpoolLine,
  TEST_EVENT,
} from '../sources/spool-files.ts'

/** More is no hook's input. It is still read to its end, up to the second limit: some writers fail when we hang up. */
const MAX_INPUT_BYTES = 1 << 20
const MAX_READ_BYTES = 16 << 20
/** Agents give a hook as little as 1.5 s. */
const MAX_WAIT_MS = 1000
const MAX_ANSWER_MS = 300
/** A sweep that was started this long ago, and did not say since that it waits, has died. */
const STALE_MS = 120_000

/** Events that are answered and not noted: the transcript holds what they tell. */
const ANSWERED = new Set(['PreToolUse', 'PostToolUse', 'PostToolUseFailure', 'UserPromptSubmit'])
const FAILED = /exit_?code\\*"?:? *[1-9]|exited with code [1-9]|is_?error\\*": *true|"success\\*": *false/i
/** Codex hands on what was printed and no exit code: then a text that names a failure counts. */
const PRINTED = /"tool_response": ?"/
const NAMES_FAILURE =
  /\b(?:\w{0,80}error|\w{0,80}exception|fail(?:ed|ure)?|fatal|panic|traceback|denied|refused|cannot|unable|not found|no such)\b/i
const ANSWER_MS = 2000
const MAX_ANSWER_BYTES = 16_000

const end = (): never => process.exit(0)
process.on('uncaughtException', end)

const chunks: Buffer[] = []
let length = 0
let isHandled = false
process.stdin.on('data', (chunk: Buffer) => {
  length += chunk.length
  if (length <= MAX_INPUT_BYTES) chunks.push(chunk)
  if (length > MAX_READ_BYTES) handle()
})
process.stdin.on('end', handle)
process.stdin.on('error', handle)
setTimeout(handle, MAX_WAIT_MS)

function printsFailure(input: string): boolean {
  const at = input.search(PRINTED)
  return at !== -1 && NAMES_FAILURE.test(input.slice(at))
}

function handle(): void {
  if (isHandled) return
  isHandled = true
  const input = length <= MAX_INPUT_BYTES ? Buffer.concat(chunks).toString('utf8') : ''
  const line = lineOf(input)
  const told = process.argv.slice(2)
  const agent = told.find((one) => one.startsWith(AGENT))?.slice(AGENT.length)
  if (agent) line.agent = agent
  const given = told.find((one) => !one.startsWith(AGENT))
  const home = given ? resolve(given) : memoryHome()
  // Never into the directory where the agent happens to work.
  if (!isAbsolute(home)) end()
  if (line.event !== null && ANSWERED.has(line.event)) {
    // Some agents tell of every call: of one that did not fail there is nothing to say.
    if (line.event === 'PostToolUse' && !FAILED.test(input) && !printsFailure(input)) end()
    answerAndEnd(home, input)
  }
  const spool = join(home, SPOOL)
  makeDirectories(spool, 0o700)
  try {
    append(join(spool, LINES), line)
  } catch {
    // A sweep that finds no line looks at everything.
  }
  if (line.event === TEST_EVENT) end()
  const startAndEnd = (): void => {
    startSweep(spool)
    end()
  }
  const watcher = connect(join(spool, SOCKET))
  watcher.on('connect', end)
  watcher.on('error', startAndEnd)
  // A socket that neither answers nor fails.
  setTimeout(startAndEnd, MAX_ANSWER_MS)
}

/** What fails, takes too long or says too much is no answer: the agent goes on. */
function answerAndEnd(home: string, input: string): never {
  const { NODE_OPTIONS: _, ...env } = process.env
  const { status, stdout } = spawnSync(process.execPath, [ownProgram(), 'answer-hook'], {
    input,
    env: { ...env, RECOLLECT_HOME: home },
    timeout: ANSWER_MS,
    maxBuffer: MAX_ANSWER_BYTES,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  if (status === 0 && stdout.length > 0) writeSync(1, stdout)
  return end()
}

const ownProgram = (): string => join(dirname(process.argv[1] as string), 'cli.cjs')

/** As in config.ts, which would bring a TOML parser along. Relative where no home directory is known. */
function memoryHome(): string {
  const { RECOLLECT_HOME, XDG_DATA_HOME = '', HOME } = process.env
  if (RECOLLECT_HOME) return resolve(RECOLLECT_HOME)
  return isAbsolute(XDG_DATA_HOME)
    ? join(XDG_DATA_HOME, 'recollect')
    : join(HOME || homedir(), '.local', 'share', 'recollect')
}

function lineOf(input: string): SpoolLine {
  const line: SpoolLine = { at: Date.now(), event: null, session: null, paths: [] }
  let said: Record<string, unknown>
  try {
    said = Object(JSON.parse(input)) as Record<string, unknown>
  } catch {
    return line
  }
  const event = said['hook_event_name'] ?? said['hookName']
  const session = said['session_id'] ?? said['sessionId']
  if (typeof event === 'string' && /^\w{1,64}$/.test(event)) line.event = event
  if (typeof session === 'string' && /^[\w.-]{1,128}$/.test(session)) line.session = session
  for (const key of ['transcript_path', 'agent_transcript_path', 'transcriptPath']) {
    const path = said[key]
    if (typeof path === 'string' && path.length <= MAX_PATH_LENGTH) line.paths.push(path)
  }
  return line
}

/** One write. It begins with a newline too: what a full disk cut off before is then a line of its own. */
function append(path: string, line: SpoolLine): void {
  const flags =
    constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK
  for (let tries = 0; tries < 3; tries++) {
    const fd = openSync(path, flags, 0o600)
    const { ino, size } = fstatSync(fd)
    if (size < MAX_SPOOL_BYTES) writeSync(fd, `\n${JSON.stringify(line)}\n`)
    closeSync(fd)
    // A sweep takes the spool by renaming it, then reads it. Still here: it has yet to read. Gone: perhaps it has read.
    if (statSync(path, { throwIfNoEntry: false })?.ino === ino) return
  }
}

/** Starts a sweep in the background, unless one was started that has not yet begun: that one will see our line. */
function startSweep(spool: string): void {
  const nudged = join(spool, NUDGED)
  try {
    closeSync(openSync(nudged, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600))
  } catch {
    const now = Date.now()
    // Throws, and so ends us, where nothing could be written: nothing would keep further sweeps from being started.
    if (Math.abs(now - statSync(nudged).mtimeMs) < STALE_MS) return
    utimesSync(nudged, new Date(now), new Date(now))
  }
  const { NODE_OPTIONS: _, ...env } = process.env
  const child = spawn(process.execPath, [ownProgram(), 'sweep', '--spool'], {
    cwd: dirname(spool),
    env: { ...env, RECOLLECT_HOME: dirname(spool) },
    detached: true,
    stdio: 'ignore',
  })
  child.on('error', end)
  child.unref()
}
