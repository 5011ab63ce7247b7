// Makes the server known to agents, and unknown again, through their own programs: they alone write their settings.
// First a plan of the commands to run, which can be shown; then they are run.
import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, constants, existsSync, realpathSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import type { Environment } from '../adapters/adapter.ts'
import type { McpClient, McpServerEntry } from '../adapters/mcp.ts'
import type { Config } from '../config.ts'
import { RecollectError } from '../errors.ts'

export const SERVER_NAME = 'recollect'
/** Agents check their servers when asked about them, and start slowly on a busy machine. */
const PATIENCE_MS = 60_000
const MAX_OUTPUT = 1 << 20

export interface Registration {
  client: McpClient
  /** Where the agent's program is; undefined where it is not installed. */
  program: string | undefined
  /** The command the server is registered with now; undefined where it is not, or cannot be known. */
  registered: string | undefined
  isCurrent: boolean
  /** The program is there and did not answer in time. */
  isSilent: boolean
  /** `by_hand`: the program is not there, so the commands can only be told. */
  action: 'none' | 'add' | 'replace' | 'remove' | 'by_hand'
  commands: string[][]
}

/** How agents have to start us: absolute paths, since they start servers without a shell and with another PATH. */
export function serverEntry(
  config: Config,
  env: Environment,
  script = process.argv[1] ?? '',
): McpServerEntry {
  const real = existsSync(script) ? realpathSync(script) : script
  if (/[\\/]_npx[\\/]/.test(real))
    throw new RecollectError('USAGE', 'run from the cache of npx, which is emptied from time to time', {
      where: real,
      hint: 'install it first: npm install -g recollect, then recollect mcp install',
    })
  const variables: Record<string, string> = {}
  if (env['RECOLLECT_HOME'] || env['XDG_DATA_HOME']) variables['RECOLLECT_HOME'] = config.home
  if (env['HELIX_STORE_DB']) variables['HELIX_STORE_DB'] = config.get('store.db_path')
  return { name: SERVER_NAME, command: [process.execPath, real, 'mcp'], env: variables }
}

export async function planRegister(
  client: McpClient,
  entry: McpServerEntry,
  env: Environment,
): Promise<Registration> {
  const found = await lookAt(client, entry, env)
  const add = [client.program, ...client.add(entry)]
  const remove = [client.program, ...client.remove(entry.name)]
  if (found.program === undefined) return { ...found, action: 'by_hand', commands: [add] }
  if (found.isCurrent) return found
  if (found.registered === undefined) return { ...found, action: 'add', commands: [add] }
  return { ...found, action: 'replace', commands: [remove, add] }
}

export async function planUnregister(
  client: McpClient,
  entry: McpServerEntry,
  env: Environment,
): Promise<Registration> {
  const found = await lookAt(client, entry, env)
  const remove = [client.program, ...client.remove(entry.name)]
  if (found.program === undefined) return { ...found, action: 'by_hand', commands: [remove] }
  return found.registered === undefined ? found : { ...found, action: 'remove', commands: [remove] }
}

/** What is registered now; changes nothing. */
export async function lookAt(
  client: McpClient,
  entry: McpServerEntry,
  env: Environment,
  patienceMs = PATIENCE_MS,
): Promise<Registration> {
  const program = findProgram(client.program, env)
  const shown = program && (await run([program, ...client.show(entry.name)], env, patienceMs))
  const registered = shown ? registeredIn(client, entry.name, shown) : undefined
  const isCurrent = registered === entry.command.join(' ')
  const isSilent = shown ? shown.code === undefined : false
  return { client, program, registered, isCurrent, isSilent, action: 'none', commands: [] }
}

/** Another version of the agent may print something else: then nothing is known. */
function registeredIn(client: McpClient, name: string, shown: Output): string | undefined {
  const { code, stdout } = shown
  try {
    return code === undefined ? undefined : client.registered(name, { code, stdout })
  } catch {
    return undefined
  }
}

/** Runs the commands of a plan, unless they are for a person. Throws with what the program said. */
export async function applyRegistration(
  { action, commands, program, client }: Registration,
  env: Environment,
): Promise<void> {
  if (action === 'by_hand') return
  for (const [, ...args] of commands) {
    const { code, stdout, stderr } = await run([program ?? client.program, ...args], env, PATIENCE_MS)
    if (code === 0) continue
    const said = code === undefined ? 'no answer' : (stderr || stdout).trim().slice(-300)
    throw new RecollectError('REFUSED', `${client.program} did not take it: ${said}`, {
      where: commandText([client.program, ...args]),
      hint: 'run the command by hand to see more',
    })
  }
}

interface Output {
  /** Undefined where it took too long. */
  code: number | undefined
  stdout: string
  stderr: string
}

function run([program = '', ...args]: string[], env: Environment, patienceMs: number): Promise<Output> {
  return new Promise((resolve) => {
    // In a group of its own, so that what it has started can be ended with it.
    const child = spawn(program, args, {
      env: env as NodeJS.ProcessEnv,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    const said = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => {
        if (said[name].length < MAX_OUTPUT) said[name] += text
      })
    const end = (code: number | undefined): void => {
      clearTimeout(timer)
      resolve({ code, ...said })
    }
    const timer = setTimeout(() => {
      endGroup(child)
      // What has left the group may hold them open for as long as it likes.
      child.stdout.destroy()
      child.stderr.destroy()
      end(undefined)
    }, patienceMs)
    child.once('error', (error) => {
      said.stderr ||= error.message
      end(1)
    })
    child.once('close', (code) => end(code ?? 1))
  })
}

function endGroup(child: ChildProcess): void {
  try {
    process.kill(-(child.pid as number), 'SIGKILL')
  } catch {
    child.kill('SIGKILL')
  }
}

/** The program of that name that a shell would start. */
function findProgram(name: string, env: Environment): string | undefined {
  for (const directory of (env['PATH'] ?? '').split(delimiter)) {
    const path = join(directory, name)
    if (isAbsolute(path) && isExecutable(path)) return path
  }
  return undefined
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** A command as a person can paste it. */
export const commandText = (command: readonly string[]): string =>
  command
    .map((part) => (/^[\w@%+=:,./-]+$/.test(part) ? part : `'${part.replaceAll("'", `'\\''`)}'`))
    .join(' ')
