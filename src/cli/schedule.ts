// `recollect schedule`: thin over capture/schedule.ts, which plans and applies.
import {
  applySchedule,
  defaultScheduler,
  isIdle,
  lastFullSweep,
  makeJob,
  planRemoval,
  planSchedule,
  SCHEDULERS,
  type SchedulePlan,
  type Scheduler,
  scheduleStatus,
} from '../capture/schedule.ts'
import { EVERY, type Every } from '../capture/schedule-text.ts'
import { Config } from '../config.ts'
import { diffOf, type FileChange } from './diff.ts'
import { EXIT } from './exit.ts'
import { formatAge } from './format.ts'
import { print, printJson } from './print.ts'
import { parseChoice } from './values.ts'

export interface ScheduleCommand {
  every?: string
  with?: string
  dryRun?: boolean
  json?: boolean
}

export function installSchedule(options: ScheduleCommand): void {
  const every = chosenEvery(options)
  const scheduler = chosenScheduler(options) ?? defaultScheduler(process.env)
  carryOut([planSchedule(scheduler, process.env, makeJob(process.env, every))], options)
}

export function removeSchedule(options: ScheduleCommand): void {
  const chosen = chosenScheduler(options)
  const installed = chosen
    ? [chosen]
    : SCHEDULERS.filter((one) => scheduleStatus(one, process.env).found.length > 0)
  carryOut(
    installed.map((one) => planRemoval(one, process.env)),
    options,
  )
}

function carryOut(plans: readonly SchedulePlan[], { dryRun, json }: ScheduleCommand): void {
  if (!dryRun) for (const plan of plans) applySchedule(plan, process.env)
  if (json) printJson({ dry_run: dryRun ?? false, schedules: plans.map(planJson) })
  else print(plans.map((plan) => planText(plan, dryRun ?? false)).join('\n') || 'nothing is scheduled')
}

/** A schedule is a backstop: where hooks set the pace, once a day will do. */
function chosenEvery({ every }: ScheduleCommand): Every {
  if (every !== undefined) return parseChoice(every, EVERY, '--every', 'interval')
  return new Config().get('session_memory.retention.cadence') === 'weekly' ? 'weekly' : 'daily'
}

const chosenScheduler = (options: ScheduleCommand): Scheduler | undefined =>
  options.with === undefined ? undefined : parseChoice(options.with, SCHEDULERS, '--with', 'scheduler')

const changesOf = ({ files, crontab }: SchedulePlan): FileChange[] =>
  [...files, ...(crontab ? [{ path: 'crontab', ...crontab }] : [])].filter((one) => one.before !== one.after)

const planJson = (plan: SchedulePlan): Record<string, unknown> => ({
  scheduler: plan.scheduler,
  action: isIdle(plan) ? 'none' : plan.isRemoval ? 'remove' : 'install',
  changes: changesOf(plan).map((one) => ({ path: one.path, diff: diffOf(one) })),
  commands: plan.commands,
  notes: plan.notes,
})

function planText(plan: SchedulePlan, isDryRun: boolean): string {
  if (isIdle(plan)) return `${plan.scheduler}: nothing to do`
  const lines: string[] = []
  for (const change of changesOf(plan)) {
    if (isDryRun) lines.push(diffOf(change).trimEnd())
    else if (plan.crontab)
      lines.push(`cron: ${plan.isRemoval ? 'took our line out of' : 'wrote our line into'} the crontab`)
    else lines.push(`${plan.scheduler}: ${change.after === undefined ? 'removed' : 'wrote'} ${change.path}`)
  }
  for (const command of plan.commands) lines.push(`${isDryRun ? 'would run' : 'ran'} ${command.join(' ')}`)
  return [...lines, ...plan.notes].join('\n')
}

export function showSchedule(options: { json?: boolean }): void {
  const statuses = SCHEDULERS.map((one) => scheduleStatus(one, process.env)).filter(
    (one) => one.found.length > 0,
  )
  const last = lastFullSweep(new Config().home)?.toISOString() ?? null
  if (options.json) {
    printJson({
      schedules: statuses.map((one) => ({ ...one, every: one.every ?? null, problem: one.problem ?? null })),
      last_full_sweep_at: last,
    })
    return
  }
  if (statuses.length === 0) print('nothing is scheduled: recollect schedule install')
  for (const { scheduler, found, problem } of statuses) {
    print(`${scheduler.padEnd(8)} ${found.join(' ')}`)
    if (problem) print(`${''.padEnd(9)}problem: ${problem}`)
  }
  print(
    last === null
      ? 'no sweep has looked at everything yet'
      : `everything was last looked at ${formatAge(last)}`,
  )
  if (statuses.some((one) => one.problem)) process.exitCode = EXIT.failed
}
