// Has the system run a sweep from time to time: a systemd user timer, a launchd agent, or a line in the crontab. First a
// plan, which can be shown; then the plan is carried out. Each file is replaced as a whole, and what a kill leaves in
// between is mended by doing the same again.
import { spawnSync } from 'node:child_process'
import { existsSync, unlinkSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { Environment } from '../adapters/adapter.ts'
import { INTEGRATIONS } from '../adapters/integrations.ts'
import { errnoOf, fromSystem, RecollectError } from '../errors.ts'
import { ensureDirectory } from '../files/directory.ts'
import { MAX_SETTINGS_BYTES, readLinked } from '../files/reading.ts'
import { replaceFile } from '../files/replace.ts'
import { readSpoolState } from '../sources/spool.ts'
import { ownFile } from './program.ts'
import {
  CRON_MARK,
  cronLine,
  type Every,
  everyIn,
  type Job,
  LABEL,
  launchdAgent,
  systemdService,
  systemdTimer,
  UNIT,
  withCronLine,
} from './schedule-text.ts'

export const SCHEDULERS = ['systemd', 'launchd', 'cron'] as const
export type Scheduler = (typeof SCHEDULERS)[number]

export interface SchedulePlan {
  scheduler: Scheduler
  /** Undefined: no file. */
  files: { path: string; before: string | undefined; after: string | undefined }[]
  /** The whole crontab, where that is what changes. */
  crontab: { before: string; after: string } | undefined
  /** Run in this order, after the files were written or (to remove) before. */
  commands: string[][]
  isRemoval: boolean
  /** What the person should know besides. */
  notes: string[]
}

/** How to see that a scheduler can be used by this person. */
const PROBES: Record<Scheduler, { name: string; command: string[]; isUsable: (answer: Run) => boolean }> = {
  launchd: { name: 'launchd', command: ['launchctl', 'version'], isUsable: (answer) => !answer.error },
  systemd: {
    name: 'systemd user session',
    command: ['systemctl', '--user', 'show-environment'],
    isUsable: (answer) => answer.status === 0,
  },
  cron: {
    name: 'cron',
    command: ['crontab', '-l'],
    isUsable: ({ status, stderr }) => status === 0 || NO_CRONTAB_YET.test(stderr),
  },
}
const NO_CRONTAB_YET = /no crontab/i

export interface FoundScheduler {
  /** Undefined: none that could be used. */
  scheduler: Scheduler | undefined
  /** What was looked for before and is not there, each with the reason. */
  missing: string[]
}

/** What this machine has. */
export function findScheduler(env: Environment, platform: string = process.platform): FoundScheduler {
  const missing: string[] = []
  for (const scheduler of platform === 'darwin' ? (['launchd'] as const) : (['systemd', 'cron'] as const)) {
    const { name, command, isUsable } = PROBES[scheduler]
    const answer = run(command, env)
    if (isUsable(answer)) return { scheduler, missing }
    missing.push(`no ${name} (${command[0]}: ${reasonOf(answer)})`)
  }
  return { scheduler: undefined, missing }
}

function reasonOf({ error, stderr, status }: Run): string {
  if (error) return errnoOf(error) === 'ENOENT' ? 'not found' : error.message
  return stderr.trim().split('\n')[0] || `exit code ${status}`
}

export function defaultScheduler(env: Environment): Scheduler {
  const { scheduler, missing } = findScheduler(env)
  if (scheduler !== undefined) return scheduler
  throw new RecollectError('NOT_FOUND', `nothing here can run a sweep by the clock: ${missing.join(', ')}`, {
    where: Object.values(PROBES)
      .map((probe) => probe.command.join(' '))
      .join(', '),
    hint: WITHOUT_SCHEDULER,
  })
}

/** What remains to a machine without one. */
export const WITHOUT_SCHEDULER =
  'let something else run `recollect sweep`, or use `recollect hooks install` or `recollect watch`'

/** The sweep as a scheduler is to run it. */
export function makeJob(env: Environment, every: Every, program = ownFile('cli.cjs')): Job {
  const names = [
    'RECOLLECT_HOME',
    'XDG_DATA_HOME',
    'HELIX_STORE_DB',
    ...INTEGRATIONS.map((one) => one.homeVariable),
  ]
  const known = names.filter((name) => env[name]).map((name) => [name, fromHere(env[name] as string)])
  return { every, command: [process.execPath, program, 'sweep'], env: Object.fromEntries(known) }
}

/** The scheduler starts it in another directory than this one. */
const fromHere = (path: string): string => (/^[/~]/.test(path) ? path : resolve(path))

export function planSchedule(scheduler: Scheduler, env: Environment, job: Job): SchedulePlan {
  const plan = emptyPlan(scheduler, false)
  if (scheduler === 'cron') return { ...plan, crontab: changeOf(env, cronLine(job)) }
  for (const [path, after] of textsOf(scheduler, env, job))
    plan.files.push({ path, before: readText(path), after })
  if (plan.files.every((file) => file.before === file.after) && isLoaded(scheduler, env)) return plan
  plan.commands = scheduler === 'systemd' ? SYSTEMD_START : launchdStart(plan, env)
  if (scheduler === 'systemd')
    plan.notes.push('runs while you are logged in; `loginctl enable-linger` lets it run without')
  return plan
}

export function planRemoval(scheduler: Scheduler, env: Environment): SchedulePlan {
  const plan = emptyPlan(scheduler, true)
  if (scheduler === 'cron') return { ...plan, crontab: changeOf(env, undefined) }
  for (const path of filesOf(scheduler, env)) {
    const before = readText(path)
    if (before !== undefined) plan.files.push({ path, before, after: undefined })
  }
  if (plan.files.length > 0) plan.commands = scheduler === 'systemd' ? SYSTEMD_STOP : LAUNCHD_STOP
  return plan
}

const emptyPlan = (scheduler: Scheduler, isRemoval: boolean): SchedulePlan => ({
  scheduler,
  files: [],
  crontab: undefined,
  commands: [],
  isRemoval,
  notes: [],
})

export const isIdle = ({ files, crontab, commands }: SchedulePlan): boolean =>
  files.every((file) => file.before === file.after) &&
  crontab?.before === crontab?.after &&
  commands.length === 0

const SYSTEMD_START = [
  ['systemctl', '--user', 'daemon-reload'],
  ['systemctl', '--user', 'enable', '--now', `${UNIT}.timer`],
]
const SYSTEMD_STOP = [['systemctl', '--user', 'disable', '--now', `${UNIT}.timer`]]
const domain = `gui/${userInfo().uid}`
const LAUNCHD_STOP = [['launchctl', 'bootout', `${domain}/${LABEL}`]]

/** One that is loaded has to go first: it would not be read again. */
const launchdStart = ({ files }: SchedulePlan, env: Environment): string[][] => [
  ...(isLoaded('launchd', env) ? LAUNCHD_STOP : []),
  ...files.map((file) => ['launchctl', 'bootstrap', domain, file.path]),
]

const isLoaded = (scheduler: Scheduler, env: Environment): boolean =>
  run(
    scheduler === 'systemd'
      ? ['systemctl', '--user', 'is-enabled', `${UNIT}.timer`]
      : ['launchctl', 'print', `${domain}/${LABEL}`],
    env,
  ).status === 0

function filesOf(scheduler: 'systemd' | 'launchd', env: Environment): string[] {
  const home = env['HOME'] || homedir()
  if (scheduler === 'launchd') return [join(home, 'Library', 'LaunchAgents', `${LABEL}.plist`)]
  const units = join(env['XDG_CONFIG_HOME'] || join(home, '.config'), 'systemd', 'user')
  return [join(units, `${UNIT}.service`), join(units, `${UNIT}.timer`)]
}

function textsOf(scheduler: 'systemd' | 'launchd', env: Environment, job: Job): [string, string][] {
  const texts = scheduler === 'launchd' ? [launchdAgent(job)] : [systemdService(job), systemdTimer(job)]
  return filesOf(scheduler, env).map((path, at) => [path, texts[at] as string])
}

/** Carries a plan out. */
export function applySchedule(plan: SchedulePlan, env: Environment): void {
  if (plan.isRemoval) for (const command of plan.commands) mustRun(command, env)
  for (const { path, before, after } of plan.files) {
    if (before === after) continue
    if (after === undefined) unlinkSync(path)
    else {
      ensureDirectory(dirname(path), 0o755, false)
      replaceFile(path, after, { mode: 0o644, exactMode: true })
    }
  }
  if (plan.crontab) writeCrontab(plan.crontab, env)
  if (!plan.isRemoval) for (const command of plan.commands) mustRun(command, env)
  else if (plan.scheduler === 'systemd' && plan.files.length > 0)
    run(['systemctl', '--user', 'daemon-reload'], env)
}

function writeCrontab({ before, after }: { before: string; after: string }, env: Environment): void {
  if (before === after) return
  if (readCrontab(env) !== before)
    throw new RecollectError('REPLACED', 'the crontab changed meanwhile; nothing was written', {
      where: 'crontab -l',
      hint: 'run the same command again',
    })
  if (after === '') mustRun(['crontab', '-r'], env)
  else mustRun(['crontab', '-'], env, after)
}

const changeOf = (env: Environment, line: string | undefined): { before: string; after: string } => {
  const before = readCrontab(env)
  return { before, after: withCronLine(before, line) }
}

/** Empty where there is none yet, which crontab tells with an error. */
function readCrontab(env: Environment): string {
  const { status, stdout, stderr, error } = run(['crontab', '-l'], env)
  if (error) throw notThere('crontab', error)
  if (status === 0) return stdout
  if (NO_CRONTAB_YET.test(stderr)) return ''
  throw new RecollectError(
    'NOT_READABLE',
    `cannot read the crontab: ${stderr.trim() || `exit code ${status}`}`,
    {
      where: 'crontab -l',
      hint: 'run it by hand to see why; systemd and launchd need no crontab: --with systemd',
    },
  )
}

export interface ScheduleStatus {
  scheduler: Scheduler
  /** Where it stands: the files, or the line of the crontab. Empty: not installed. */
  found: string[]
  /** How often, as far as that can be read. */
  every: Every | undefined
  /** What is wrong with it, and what to do. */
  problem: string | undefined
}

export function scheduleStatus(scheduler: Scheduler, env: Environment): ScheduleStatus {
  const status: ScheduleStatus = { scheduler, found: [], every: undefined, problem: undefined }
  if (scheduler === 'cron') {
    const { error, stdout } = run(['crontab', '-l'], env)
    status.found = error ? [] : stdout.split('\n').filter((line) => line.endsWith(CRON_MARK))
  } else status.found = filesOf(scheduler, env).filter((path) => existsSync(path))
  if (status.found.length === 0) return status
  const text =
    scheduler === 'cron' ? status.found.join('\n') : status.found.map((path) => readText(path)).join('\n')
  status.every = everyIn(text)
  const gone = programsIn(text).find((path) => !existsSync(path))
  if (gone !== undefined) status.problem = `${gone} is gone: run recollect schedule install again`
  else if (scheduler !== 'cron' && !isLoaded(scheduler, env))
    status.problem = 'written but not started: run recollect schedule install again'
  return status
}

/** When everything was last looked at, by whatever set that off. */
export function lastFullSweep(home: string): Date | undefined {
  const { fullAt } = readSpoolState(home)
  return fullAt === 0 ? undefined : new Date(fullAt)
}

/** Absolute paths between quotes or tags: the program and its script. */
const programsIn = (text: string): string[] =>
  [...text.matchAll(/["'>](\/[^"'<>]*(?:node|cli\.cjs))["'<]/g)].map(([, path]) => path as string)

type Run = ReturnType<typeof run>

const run = ([program = '', ...words]: string[], env: Environment, input = '') =>
  spawnSync(program, words, { env, input, encoding: 'utf8', timeout: 20_000 })

function mustRun(command: string[], env: Environment, input?: string): void {
  const { status, stderr, error } = run(command, env, input)
  if (error) throw notThere(command[0] as string, error)
  if (status === 0) return
  throw new RecollectError('IO', `${command[0]} failed: ${stderr.trim() || `exit code ${status}`}`, {
    where: command.join(' '),
    hint: 'what was written stays; fix the cause and run the same command again',
  })
}

function notThere(program: string, cause: Error): RecollectError {
  if (errnoOf(cause) !== 'ENOENT') return fromSystem(cause, `cannot run ${program}`, program)
  return new RecollectError('NOT_FOUND', `${program} is not here`, {
    where: program,
    cause,
    hint: 'choose another one with --with systemd, launchd or cron',
  })
}

function readText(path: string): string | undefined {
  try {
    return readLinked(path, MAX_SETTINGS_BYTES).toString('utf8')
  } catch (error) {
    if (error instanceof RecollectError && error.code === 'NOT_FOUND') return undefined
    throw fromSystem(error, 'cannot read', path, 'read')
  }
}
