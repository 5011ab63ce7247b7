// `recollect init`: the first run. Each step shows what it would change before it asks; what is done already is passed
// over, so it can be run again. Ends with a sweep and the status, whatever was answered.
import { existsSync } from 'node:fs'
import type { Environment } from '../adapters/adapter.ts'
import type { Integration } from '../adapters/integration.ts'
import { INTEGRATIONS } from '../adapters/integrations.ts'
import { MCP_CLIENTS, MCP_FILES } from '../adapters/mcp.ts'
import { makeHandler, planInstall, withAnswers } from '../capture/hooks.ts'
import { isHere, planMcpAdd } from '../capture/mcp-file.ts'
import {
  findScheduler,
  isIdle,
  makeJob,
  planSchedule,
  SCHEDULERS,
  scheduleStatus,
  WITHOUT_SCHEDULER,
} from '../capture/schedule.ts'
import { Config } from '../config.ts'
import { places } from '../doctor/places.ts'
import { ensureDirectory } from '../files/directory.ts'
import { replaceFile } from '../files/replace.ts'
import { planRegister, type Registration, serverEntry } from '../mcp/register.ts'
import { ask } from './ask.ts'
import { paint } from './colour.ts'
import { nextStep, placeLines } from './empty.ts'
import { reportError } from './exit.ts'
import { installHooks } from './hooks.ts'
import { applyAll, KEEPING, longerPlans, showKeeping } from './keeping.ts'
import { installMcp } from './mcp-install.ts'
import { print, printFolded } from './print.ts'
import { installSchedule } from './schedule.ts'

export interface InitCommand {
  yes?: boolean
  dryRun?: boolean
  /** `--no-input` sets it to false. */
  input?: boolean
}

interface Step {
  title: string
  /** What it is good for, and how to take it back. */
  why: string
  isNeeded: () => boolean | Promise<boolean>
  /** What this machine has not, without which the step cannot be taken: no failure, but to be told. */
  lacks?: () => string | undefined | Promise<string | undefined>
  show: () => void | Promise<void>
  run: () => void | Promise<void>
}

export async function runInit(options: InitCommand): Promise<void> {
  const config = new Config()
  const found = places(config)
  print(`${paint.bold('Agents on this machine')}\n${placeLines(found).join('\n')}`)
  if (!found.some((one) => one.exists)) return printFolded(`\nnothing to remember yet: ${nextStep(found)}`)
  if (!options.dryRun) {
    print(`\n${paint.bold('Reading what they left')}`)
    await (await import('./sweep.ts')).runSweep({})
  }
  for (const step of stepsFor(config)) await take(step, options)
  if (options.dryRun)
    return print('\nnothing was changed; without --dry-run it asks before each step, and sweeps')
  print('')
  await (await import('./status.ts')).showStatus({})
}

/** One that fails keeps no other from being taken. */
async function take(step: Step, options: InitCommand): Promise<void> {
  try {
    if (!(await step.isNeeded())) return
    const lack = await step.lacks?.()
    if (lack !== undefined) return printFolded(`\n${paint.bold(step.title)}: ${lack}`)
    printFolded(`\n${paint.bold(step.title)}: ${step.why}`)
    await step.show()
    if (options.dryRun) return
    if (await isWanted(options)) await step.run()
    else print('left as it is')
  } catch (error) {
    process.exitCode = reportError(error)
  }
}

/** Without somebody to ask, nothing outside our own directory is changed unless `--yes` said so. */
async function isWanted({ yes, input }: InitCommand): Promise<boolean> {
  return yes || (input !== false && (await ask('Do it?', 'yes')))
}

function stepsFor(config: Config): Step[] {
  const { env } = process
  const present = INTEGRATIONS.map((one) => withAnswers(one, config)).filter((one) =>
    existsSync(one.home(env)),
  )
  return [
    {
      title: 'Settings',
      why: 'a file to keep yours in; every default stays in force',
      isNeeded: () => !existsSync(config.file),
      show: () => print(`would write ${config.file}:\n${indented(CONFIG)}`),
      run: () => writeConfig(config),
    },
    {
      title: 'Hooks',
      why: 'sessions are read when agents write them; recollect hooks uninstall takes them out again',
      isNeeded: () => {
        const handler = makeHandler(env)
        return present.map((one) => planInstall(one, env, handler)).some((plan) => plan.before !== plan.after)
      },
      show: () => showHooks(present),
      run: () => installHooks({}),
    },
    {
      ...KEEPING,
      isNeeded: () => longerPlans().length > 0,
      show: () => showKeeping(longerPlans()),
      run: () => applyAll(longerPlans()),
    },
    scheduleStep(env),
    mcpStep(config, env),
  ]
}

function scheduleStep(env: Environment): Step {
  const { scheduler, missing } = findScheduler(env)
  return {
    title: 'Schedule',
    why: 'a sweep once a day, before agents delete anything; recollect schedule remove ends it',
    isNeeded: () =>
      !SCHEDULERS.some((one) => scheduleStatus(one, env).found.length > 0) &&
      (scheduler === undefined || !isIdle(planSchedule(scheduler, env, makeJob(env, 'daily')))),
    lacks: () =>
      scheduler === undefined
        ? `nothing here can run a sweep by the clock: ${missing.join(', ')}; ${WITHOUT_SCHEDULER}`
        : undefined,
    show: () => installSchedule({ dryRun: true }),
    run: () => installSchedule({}),
  }
}

function mcpStep(config: Config, env: Environment): Step {
  let asked: Promise<Registration[]> | undefined
  // Once: each starts the agent's own program.
  const plans = (): Promise<Registration[]> => {
    asked ??= Promise.all(MCP_CLIENTS.map((client) => planRegister(client, serverEntry(config, env), env)))
    return asked
  }
  const isElsewhere = (plan: Registration): boolean => plan.action === 'by_hand'
  const files = MCP_FILES.filter((client) => isHere(client, env))
  const isFileOpen = (): boolean =>
    files.some((client) => planMcpAdd(client, serverEntry(config, env), env).action !== 'none')
  return {
    title: 'MCP server',
    why: 'agents can ask the memory; recollect mcp uninstall takes it out again',
    isNeeded: async () => {
      const all = await plans()
      if (isFileOpen() || all.some((plan) => plan.action === 'add' || plan.action === 'replace')) return true
      return files.length === 0 && all.every(isElsewhere)
    },
    lacks: async () =>
      files.length === 0 && (await plans()).every(isElsewhere)
        ? `no agent's program is on the PATH (${MCP_CLIENTS.map((client) => client.program).join(', ')}); recollect mcp install --dry-run says what to run where one is`
        : undefined,
    show: () => installMcp({ dryRun: true }),
    run: () => installMcp({}),
  }
}

/** Which files would change; the whole text of three of them would bury what is asked. */
function showHooks(present: readonly Integration[]): void {
  const handler = makeHandler(process.env)
  for (const one of present) {
    const { file, before, after } = planInstall(one, process.env, handler)
    if (before !== after)
      print(`  ${one.title.padEnd(12)} ${before === undefined ? 'new file' : 'adds to '} ${file}`)
  }
  printFolded(`  each hook runs ${handler.command}`)
  print('  recollect hooks install --dry-run shows every line')
}

const CONFIG = `# Settings of Recollect. All of them: recollect config, docs/config.md.
#
# [session_memory.retention]
# raw_soft_cap_bytes = "4GiB"    # above this the oldest raw sessions go
# raw_max_age_days = 45          # and those whose last event is older than this
# sole_copies = "keep"           # "age": also those that only we still have
#
# [sources.NAME]                 # more directories to look in, by agent
# roots = ["/mnt/backup/sessions"]
`

const indented = (text: string): string => text.trimEnd().replace(/^/gm, '  ')

function writeConfig(config: Config): void {
  ensureDirectory(config.home, 0o700, false)
  replaceFile(config.file, CONFIG, { mode: 0o600 })
  print(`wrote ${config.file}`)
}
