// `recollect hooks`: thin over capture/hooks.ts, which plans and applies, and capture/hook-status.ts.
import { existsSync } from 'node:fs'
import { ADAPTERS } from '../adapters/index.ts'
import type { Integration } from '../adapters/integration.ts'
import { INTEGRATIONS } from '../adapters/integrations.ts'
import { type HookStatus, lastFired, statusOf, tryCommand } from '../capture/hook-status.ts'
import {
  applyPlan,
  type HookPlan,
  makeHandler,
  planInstall,
  planUninstall,
  withAnswers,
} from '../capture/hooks.ts'
import type { Handler } from '../capture/settings.ts'
import { Config } from '../config.ts'
import { fromUnforeseen, RecollectError } from '../errors.ts'
import { isoTime } from '../model.ts'
import { printCsv } from './csv.ts'
import { diffOf } from './diff.ts'
import { EXIT, reportError } from './exit.ts'
import { formatAge, formatDuration } from './format.ts'
import { print, printJson } from './print.ts'
import { parseAgents } from './values.ts'

export interface HookCommand {
  agent?: string[]
  dryRun?: boolean
  json?: boolean
  csv?: boolean
}

export function installHooks(options: HookCommand): void {
  const agents = pick(options.agent, (one) => existsSync(one.home(process.env)))
  const handler = makeHandler(process.env)
  if (agents.length === 0)
    throw new RecollectError('NOT_FOUND', 'no agent to install hooks in has been here', {
      where: INTEGRATIONS.map((one) => one.home(process.env)).join(', '),
      hint: `name one to install them all the same: --agent ${INTEGRATIONS[0]?.flavor}`,
    })
  change(agents, options, (one) => planInstall(one, process.env, handler))
}

export function uninstallHooks(options: HookCommand): void {
  change(pick(options.agent), options, (one) => planUninstall(one, process.env))
}

/** One agent's broken file keeps no other from being changed. */
function change(
  agents: readonly Integration[],
  { dryRun, json }: HookCommand,
  plan: (integration: Integration) => HookPlan,
): void {
  const done: Record<string, unknown>[] = []
  for (const integration of agents) {
    try {
      const planned = plan(integration)
      if (!dryRun) applyPlan(planned)
      done.push(planJson(planned))
      if (!json) print(planText(planned, dryRun ?? false))
    } catch (error) {
      process.exitCode = reportError(error)
      const { flavor } = integration
      done.push({ agent: flavor, action: 'failed', error: fromUnforeseen(error) })
    }
  }
  if (json) printJson({ dry_run: dryRun ?? false, agents: done })
}

function actionOf({ before, after }: HookPlan): 'none' | 'create' | 'remove' | 'change' {
  if (before === after) return 'none'
  if (before === undefined) return 'create'
  return after === undefined ? 'remove' : 'change'
}

function planJson(plan: HookPlan): Record<string, unknown> {
  const { integration, file, backup, writesBackup, before, after } = plan
  const status = statusOf(integration, process.env, undefined, {})
  return {
    agent: integration.flavor,
    file,
    action: actionOf(plan),
    backup: writesBackup ? backup : null,
    diff: before === after ? '' : diffOf({ ...plan, path: plan.file }),
    obstacle: after === undefined ? null : (status.obstacle ?? null),
  }
}

function planText(plan: HookPlan, isDryRun: boolean): string {
  const { integration, file, backup, writesBackup } = plan
  const action = actionOf(plan)
  const lines = [`${integration.title}  ${file}`]
  if (action === 'none') lines.push('  nothing to do')
  else if (isDryRun) lines.push(diffOf({ ...plan, path: plan.file }).trimEnd())
  else lines.push(`  ${{ create: 'created', remove: 'removed', change: 'changed' }[action]}`)
  if (writesBackup && action !== 'none')
    lines.push(`  ${isDryRun ? 'would keep' : 'kept'} what was there in ${backup}`)
  const obstacle = isDryRun ? undefined : statusOf(integration, process.env, undefined, {}).obstacle
  if (obstacle) lines.push(`  ${obstacle.kind === 'trust' ? 'pending' : 'off'}: ${obstacle.what}`)
  return lines.join('\n')
}

function allStatuses(options: HookCommand): HookStatus[] {
  const config = new Config()
  const fired = lastFired(config.home, ADAPTERS)
  return pick(options.agent).map((one) => statusOf(one, process.env, wanted(), fired))
}

/** What we would install, where we could: run from a cache or a checkout without a build, there is nothing to compare. */
function wanted(): Handler | undefined {
  try {
    return makeHandler(process.env)
  } catch {
    return undefined
  }
}

export function showHooks(options: HookCommand): void {
  const statuses = allStatuses(options)
  const agents = statuses.map(statusJson)
  if (options.json) printJson({ agents })
  else if (options.csv) printCsv(agents)
  else print(statuses.map(statusText).join('\n'))
}

function statusJson(status: HookStatus): Record<string, unknown> {
  const { integration, file, fired } = status
  return {
    agent: integration.flavor,
    title: integration.title,
    file,
    present: status.isPresent,
    installed: status.installedCount,
    wanted: status.wantedCount,
    command: status.command ?? null,
    problem: status.problem ?? null,
    obstacle: status.obstacle ?? null,
    last_fired_at: isoTime(fired?.at),
    last_event: fired?.event ?? null,
  }
}

function statusText(status: HookStatus): string {
  const { integration, installedCount, wantedCount, problem, obstacle, fired } = status
  const lines = [`${integration.title.padEnd(12)} ${installedCount}/${wantedCount} installed  ${status.file}`]
  const add = (name: string, text: string): number => lines.push(`${''.padEnd(13)}${name}: ${text}`)
  if (!status.isPresent) add('absent', `${integration.home(process.env)} is not there`)
  if (problem) add('problem', problem)
  if (obstacle) add(obstacle.kind === 'trust' ? 'pending' : 'off', obstacle.what)
  if (fired) add('last fired', `${formatAge(fired.at)}${fired.event ? `, ${fired.event}` : ''}`)
  else if (installedCount > 0) add('last fired', 'never')
  return lines.join('\n')
}

export function testHooks(options: HookCommand): void {
  const { home } = new Config()
  const results = allStatuses(options)
    .filter((status) => status.command !== undefined)
    .map((status) => ({ status, test: tryCommand(status.command as string, process.env, home) }))
  if (options.json)
    printJson({
      agents: results.map(({ status, test }) => ({
        agent: status.integration.flavor,
        ok: test.ok,
        ms: test.ms,
        problem: test.problem ?? null,
      })),
    })
  else if (results.length === 0) print('no hook is installed: recollect hooks install')
  for (const { status, test } of options.json ? [] : results)
    print(
      `${status.integration.title.padEnd(12)} ${test.ok ? `works, ${formatDuration(test.ms)}` : `does not work: ${test.problem}`}`,
    )
  if (results.length === 0 || results.some(({ test }) => !test.ok)) process.exitCode = EXIT.failed
}

function pick(
  names: readonly string[] | undefined,
  isWanted: (one: Integration) => boolean = () => true,
): Integration[] {
  const config = new Config()
  const all = INTEGRATIONS.map((one) => withAnswers(one, config))
  if (names === undefined) return all.filter(isWanted)
  const flavors = all.map((one) => one.flavor)
  const chosen = names.flatMap((name) => parseAgents(name, flavors, 'agent with hooks'))
  return all.filter((one) => chosen.includes(one.flavor))
}
