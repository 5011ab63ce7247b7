// Has agents keep their own transcripts for longer: shown first, done when wanted, and taken back. Thin over
// capture/keeping.ts.
import { existsSync } from 'node:fs'
import { INTEGRATIONS } from '../adapters/integrations.ts'
import { applyKeeping, isKeeper, type KeepPlan, planAsBefore, planLonger } from '../capture/keeping.ts'
import { ask } from './ask.ts'
import { diffOf } from './diff.ts'
import { print, printFolded } from './print.ts'

const keepers = () => INTEGRATIONS.filter(isKeeper).filter((one) => existsSync(one.home(process.env)))
const isChange = (plan: KeepPlan): boolean => plan.before !== plan.after

/** Where something would change, for each agent that has been here. */
export const longerPlans = (): KeepPlan[] =>
  keepers()
    .map((one) => planLonger(one, process.env))
    .filter(isChange)

const undoPlans = (): KeepPlan[] =>
  keepers()
    .map((one) => planAsBefore(one, process.env))
    .filter(isChange)

/** What a step of the first run is good for. */
export const KEEPING = {
  title: "Agents' own files",
  why: 'an agent that deletes its transcripts keeps them for longer; recollect doctor --undo takes it back',
}

export function showKeeping(plans: readonly KeepPlan[]): void {
  for (const plan of plans) {
    printFolded(`  ${plan.integration.title} deletes transcripts ${daysText(plan)}`)
    print(diffOf({ ...plan, path: plan.file }).trimEnd())
  }
}

const daysText = ({ fromDays, toDays }: KeepPlan): string =>
  `after ${fromDays} days; would be after ${toDays} days`

export function applyAll(plans: readonly KeepPlan[]): void {
  for (const plan of plans) {
    applyKeeping(plan)
    print(`${plan.integration.title} keeps transcripts for ${plan.toDays} days: ${plan.file}`)
    if (plan.writesBackup) print(`  kept what was there in ${plan.backup}`)
  }
}

export interface FixCommand {
  fix?: boolean
  undo?: boolean
  yes?: boolean
  dryRun?: boolean
  json?: boolean
}

/** What `doctor` can mend by itself, or take back. Returns what it planned, as programs read it. */
export async function runFixes(options: FixCommand): Promise<Record<string, unknown>[]> {
  const plans = options.undo ? undoPlans() : longerPlans()
  const isQuiet = options.json ?? false
  if (!isQuiet) {
    print('')
    if (plans.length === 0) print(options.undo ? 'nothing to take back' : 'nothing that could be fixed here')
    else showKeeping(plans)
  }
  const isWanted = plans.length > 0 && !options.dryRun && (await wants(options))
  if (isWanted && isQuiet) for (const plan of plans) applyKeeping(plan)
  else if (isWanted) applyAll(plans)
  else if (!isQuiet && plans.length > 0)
    print(options.dryRun ? 'nothing was changed' : 'left as it is; --yes does it')
  return plans.map((plan) => ({
    agent: plan.integration.flavor,
    file: plan.file,
    key: plan.key,
    from_days: plan.fromDays,
    to_days: plan.toDays,
    backup: plan.writesBackup ? plan.backup : null,
    diff: diffOf({ ...plan, path: plan.file }),
    done: isWanted,
  }))
}

/** To take back what one was asked for needs no second question. */
async function wants({ undo, yes, json }: FixCommand): Promise<boolean> {
  return undo || yes || (!json && (await ask('Do it?', 'yes')))
}
