// `recollect init`: the first run. Each step shows what it would change before it asks; what is done already is passed
// over, so it can be run again. Ends with a sweep and the status, whatever was answered.
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import type { Integration } from '../adapters/integration.ts'
import { INTEGRATIONS } from '../adapters/integrations.ts'
import { MCP_CLIENTS } from '../adapters/mcp.ts'
import { makeHandler, planInstall } from '../capture/hooks.ts'
import {
  defaultScheduler,
  isIdle,
  makeJob,
  planSchedule,
  SCHEDULERS,
  scheduleStatus,
} from '../capture/schedule.ts'
import { Config } from '../config.ts'
import { places } from '../doctor/places.ts'
import { ensureDirectory } from '../files/directory.ts'
import { replaceFile } from '../files/replace.ts'
import { planRegister, serverEntry } from '../mcp/register.ts'
import { paint } from './colour.ts'
import { nextStep, placeLines } from './empty.ts'
import { reportError } from './exit.ts'
import { installHooks } from './hooks.ts'
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
  if (yes) return true
  if (input === false || !process.stdin.isTTY || !process.stderr.isTTY) return false
  const asked = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = await asked.question('Do it? [Y/n] ')
    return /^\s*(?:y|yes)?\s*$/i.test(answer)
  } finally {
    asked.close()
  }
}

function stepsFor(config: Config): Step[] {
  const { env } = process
  const present = INTEGRATIONS.filter((one) => existsSync(one.home(env)))
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
      title: 'Schedule',
      why: 'a sweep once a day, before agents delete anything; recollect schedule remove ends it',
      isNeeded: () =>
        !SCHEDULERS.some((one) => scheduleStatus(one, env).found.length > 0) &&
        !isIdle(planSchedule(defaultScheduler(env), env, makeJob(env, 'daily'))),
      show: () => installSchedule({ dryRun: true }),
      run: () => installSchedule({}),
    },
    {
      title: 'MCP server',
      why: 'agents can ask the memory; recollect mcp uninstall takes it out again',
      isNeeded: async () => {
        const entry = serverEntry(config, env)
        const plans = await Promise.all(MCP_CLIENTS.map((client) => planRegister(client, entry, env)))
        return plans.some((plan) => plan.action === 'add' || plan.action === 'replace')
      },
      show: () => installMcp({ dryRun: true }),
      run: () => installMcp({}),
    },
  ]
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
# raw_max_age_days = 45          # and those that are older than this
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
