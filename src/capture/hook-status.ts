// Whether hooks are installed, would run, and did run; and a try of the installed command, as an agent would run it.
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parse as parseJson } from 'jsonc-parser'
import { parse as parseToml } from 'smol-toml'
import type { AnyAdapter, Environment } from '../adapters/adapter.ts'
import type { HookFacts, InstalledHook, Integration, Obstacle } from '../adapters/integration.ts'
import type { RecollectError } from '../errors.ts'
import { MAX_SETTINGS_BYTES, readLinked } from '../files/reading.ts'
import { firedOf, peekSpool, readSpoolState, type SpoolState } from '../sources/spool.ts'
import { TEST_EVENT } from '../sources/spool-files.ts'
import { formOf } from './hook-forms.ts'
import { handlerOf } from './hooks.ts'
import { valueIn } from './keeping.ts'
import type { Handler } from './settings.ts'

export interface HookStatus {
  integration: Integration
  file: string
  /** Whether the agent has been here at all. */
  isPresent: boolean
  installedCount: number
  wantedCount: number
  /** The installed command, where there is one. */
  command: string | undefined
  /** What is wrong with what is installed, and what to do. */
  problem: string | undefined
  obstacle: Obstacle | undefined
  fired: SpoolState['fired'][string] | undefined
}

/** When each agent's hooks last ran, as far as is known. */
export function lastFired(home: string, adapters: readonly AnyAdapter[]): SpoolState['fired'] {
  return { ...readSpoolState(home).fired, ...firedOf(peekSpool(home), adapters) }
}

export function statusOf(
  integration: Integration,
  env: Environment,
  handler: Handler | undefined,
  fired: SpoolState['fired'],
): HookStatus {
  const { hooks, flavor } = integration
  const file = hooks.file(env)
  const status: HookStatus = {
    integration,
    file,
    isPresent: existsSync(integration.home(env)),
    installedCount: 0,
    wantedCount: hooks.events.length,
    command: undefined,
    problem: undefined,
    obstacle: undefined,
    fired: fired[flavor],
  }
  let found: InstalledHook[]
  try {
    found = formOf(hooks).find(readLinked(file, MAX_SETTINGS_BYTES).toString('utf8'), file)
  } catch (error) {
    if ((error as Partial<RecollectError>).code !== 'NOT_FOUND') status.problem = (error as Error).message
    return status
  }
  status.installedCount = new Set(
    found.map((one) => one.event).filter((one) => hooks.events.includes(one)),
  ).size
  const [first] = found
  if (!first) return status
  status.command = (first.value as Handler).command
  status.problem = problemOf(found, status, handler && handlerOf(integration, handler))
  status.obstacle =
    hooks.obstacle?.({ env, file, found, settings: readSettings }) ?? switchedOff(hooks, env, file)
  return status
}

function switchedOff({ off }: HookFacts, env: Environment, hooksFile: string): Obstacle | undefined {
  const file = off?.file?.(env) ?? hooksFile
  if (!off || valueIn(readSettings(file), off.key) !== off.when) return undefined
  const place = file === hooksFile ? 'this file' : basename(file)
  return { kind: 'disabled', what: `"${off.key}" is ${off.when} in ${place}: remove it` }
}

/** As lenient as the agents are: what cannot be read says nothing. */
export function readSettings(file: string): Record<string, unknown> {
  try {
    const text = readLinked(file, MAX_SETTINGS_BYTES).toString('utf8')
    return Object(file.endsWith('.toml') ? parseToml(text) : parseJson(text)) as Record<string, unknown>
  } catch {
    return {}
  }
}

function problemOf(
  found: readonly InstalledHook[],
  { installedCount, wantedCount }: HookStatus,
  handler: Handler | undefined,
): string | undefined {
  const commands = [...new Set(found.map((one) => (one.value as Handler).command))]
  const gone = commands.flatMap(pathsIn).find((path) => !existsSync(path))
  if (gone !== undefined) return `${gone} is gone: run recollect hooks install again`
  if (installedCount < wantedCount) return 'some are missing: run recollect hooks install again'
  const isSame =
    handler === undefined || found.every((one) => JSON.stringify(one.value) === JSON.stringify(handler))
  return isSame
    ? undefined
    : 'another recollect is installed there: run recollect hooks install to take it over'
}

/** The program and the script of a command that `makeHandler` wrote. */
function pathsIn(command: string): string[] {
  return [...command.matchAll(/'((?:[^']|'\\'')*)'/g)]
    .slice(0, 2)
    .map(([, path]) => (path as string).replaceAll("'\\''", "'"))
}

export interface HookTest {
  ok: boolean
  /** What went wrong. */
  problem: string | undefined
  ms: number
}

/** Runs an installed command with an input that asks for no sweep, and looks for its line in the spool. */
export function tryCommand(command: string, env: Environment, home: string): HookTest {
  const session = randomUUID()
  const input = JSON.stringify({ hook_event_name: TEST_EVENT, session_id: session })
  const startedAt = performance.now()
  const run = spawnSync('/bin/sh', ['-c', command], { input, env, encoding: 'utf8', timeout: 10_000 })
  const ms = Math.round(performance.now() - startedAt)
  const problem =
    problemWith(run) ?? (isSpooled(home, session) ? undefined : `nothing was written below ${home}`)
  return { ok: problem === undefined, problem, ms }
}

function problemWith(run: ReturnType<typeof spawnSync>): string | undefined {
  if (run.error) return run.error.message
  if (run.status !== 0) return `ended with ${run.signal ?? run.status}: ${firstLine(run.stderr)}`
  if (run.stdout.length > 0 || run.stderr.length > 0)
    return `printed ${firstLine(run.stdout) || firstLine(run.stderr)}`
  return undefined
}

const firstLine = (output: unknown): string => String(output).trim().split('\n')[0] ?? ''

const isSpooled = (home: string, session: string): boolean =>
  peekSpool(home).some((line) => line.event === TEST_EVENT && line.session === session)
