// Puts our hook handler into agents' settings, and takes it out again. First a plan, which can be shown; then the plan is
// carried out.
import { rmdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Environment } from '../adapters/adapter.ts'
import type { Integration } from '../adapters/integration.ts'
import { type Config, homeDirectory } from '../config.ts'
import { AGENT } from '../sources/spool-files.ts'
import { formOf } from './hook-forms.ts'
import { lasting, ownFile } from './program.ts'
import { quoted } from './schedule-text.ts'
import { HANDLER_NAME, type Handler } from './settings.ts'
import { applySettings, lookAtFile, readText, type SettingsPlan } from './settings-file.ts'

export interface HookPlan extends SettingsPlan {
  integration: Integration
}

/** Agents wait so many seconds at most; one of them complains of more at the end of a session. */
const TIMEOUT_S = 3

/** The handler to install: one text for every agent, because some read each other's settings and drop equal commands. */
export function makeHandler(env: Environment, path?: string): Handler {
  const script = path === undefined ? ownFile(HANDLER_NAME) : lasting(path)
  const home = homeDirectory(env)
  // A home that only this shell knows has to be said to the handler, which agents start with theirs.
  const isKnown = home === homeDirectory({ HOME: env['HOME'] })
  return {
    type: 'command',
    command: [process.execPath, script, ...(isKnown ? [] : [home])].map(quoted).join(' '),
    timeout: TIMEOUT_S,
  }
}

/** As it is installed in one of them. */
export const handlerOf = ({ flavor, hooks }: Integration, handler: Handler): Handler => ({
  ...handler,
  ...(hooks.namesNoFile && { command: `${handler.command} ${quoted(AGENT + flavor)}` }),
  ...(hooks.timeUnit === 'ms' && { timeout: handler.timeout * 1000 }),
})

/** The agent with the events besides on which our handler is wanted: those it answers, as the settings ask for. */
export function withAnswers(integration: Integration, config: Config): Integration {
  const { answers, events } = integration.hooks
  if (!answers) return integration
  const hasBudget = config.get('budget.daily') > 0 || config.get('budget.session') > 0
  const more = [
    ...(config.get('recall.hook') === 'on' ? [answers.failed] : []),
    ...(hasBudget ? [answers.prompt] : []),
    ...(hasBudget && config.get('budget.action') === 'stop' ? [answers.call] : []),
  ]
  return more.length === 0
    ? integration
    : { ...integration, hooks: { ...integration.hooks, events: [...events, ...more] } }
}

export function planInstall(integration: Integration, env: Environment, handler: Handler): HookPlan {
  const plan = lookAt(integration, env)
  const { before, file } = plan
  const { events } = integration.hooks
  const form = formOf(integration.hooks)
  const after = form.put(before ?? '', events, handlerOf(integration, handler), file)
  const isFresh = before === undefined || form.find(before, file).length === 0
  return { ...plan, after, writesBackup: isFresh && before !== undefined }
}

export function planUninstall(integration: Integration, env: Environment): HookPlan {
  const plan = lookAt(integration, env)
  const { before, file, backup } = plan
  if (before === undefined) return plan
  const form = formOf(integration.hooks)
  const ours = form.find(before, file)
  if (ours.length === 0) return plan
  const events = [...new Set(ours.map((one) => one.event))]
  // As it was installed, perhaps from another directory than we run from.
  const handler = ours[0]?.value as Handler
  const isMade = (from: string): boolean => {
    try {
      return form.put(from, events, handler, file) === before
    } catch {
      // A copy of something else.
      return false
    }
  }
  const saved = readText(backup)
  // Nothing else has changed since: give back the very bytes.
  if (saved !== undefined && isMade(saved)) return { ...plan, after: saved, removesBackup: true }
  if (isMade('')) return { ...plan, after: undefined }
  return { ...plan, after: form.take(before, file) || undefined }
}

/** Carries a plan out, or throws, as `applySettings` does. A file of our own goes with its directory, if nothing else is there. */
export function applyPlan(plan: HookPlan): void {
  applySettings(plan)
  const isRemoved = plan.before !== undefined && plan.after === undefined
  if (!isRemoved || plan.integration.hooks.isShared) return
  try {
    rmdirSync(dirname(plan.target))
  } catch {
    return
  }
}

const lookAt = (integration: Integration, env: Environment): HookPlan => ({
  integration,
  ...lookAtFile(integration.hooks.file(env), '.before-recollect'),
})
