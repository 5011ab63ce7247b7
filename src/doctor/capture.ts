// What reads sessions without being asked: hooks in the agents, a schedule of the system, a watcher; and whether agents know
// the server through which they can ask. Looks only; asks agents' own programs what they have registered.
import type { Integration } from '../adapters/integration.ts'
import { MCP_CLIENTS } from '../adapters/mcp.ts'
import { type HookStatus, lastFired, statusOf } from '../capture/hook-status.ts'
import { SCHEDULERS, type ScheduleStatus, scheduleStatus } from '../capture/schedule.ts'
import { EVERY_MS } from '../capture/schedule-text.ts'
import { isWatched } from '../capture/watch.ts'
import { lookAt, type Registration, serverEntry } from '../mcp/register.ts'
import { readSpoolState } from '../sources/spool.ts'
import type { AgentContext } from './agents.ts'
import { ageText, DAY, type Finding, finding } from './finding.ts'

export function checkCapture(context: AgentContext, agents: readonly Integration[]): Finding[] {
  const { config, env, adapters } = context
  const fired = lastFired(config.home, adapters)
  const hooks = agents.map((one) => statusOf(one, env, undefined, fired))
  const schedules = SCHEDULERS.map((one) => scheduleStatus(one, env)).filter((one) => one.found.length > 0)
  return [
    ...(agents.length === 0 ? [] : [automatic(context, hooks, schedules)]),
    ...hooks.map((one) => hookFinding(context, one)),
    ...(agents.length === 0 ? [] : scheduleFindings(context, schedules)),
    ...agents.flatMap((one) => mcpFindings(context, one)),
  ]
}

/** The question behind all of these: is a session lost when nobody types `recollect sweep`? */
function automatic({ config }: AgentContext, hooks: HookStatus[], schedules: ScheduleStatus[]): Finding {
  const running = hooks.filter((one) => one.installedCount > 0 && !one.problem && !one.obstacle)
  const ways = [
    ...(running.length > 0 ? [`hooks in ${running.map((one) => one.integration.title).join(', ')}`] : []),
    ...schedules.filter((one) => !one.problem).map((one) => `a schedule (${one.scheduler})`),
    ...(isWatched(config.home) ? ['recollect watch'] : []),
  ]
  if (ways.length > 0)
    return finding('capture.automatic', 'ok', `sessions are read through ${ways.join(' and ')}`)
  return finding(
    'capture.automatic',
    'warning',
    'nothing reads sessions by itself: only what you sweep is kept',
    {
      fix: 'recollect hooks install, and recollect schedule install',
    },
  )
}

function hookFinding({ now }: AgentContext, status: HookStatus): Finding {
  const { flavor, title } = status.integration
  const install = `recollect hooks install --agent ${flavor}`
  const say = (severity: Finding['severity'], text: string, fix?: string): Finding =>
    finding('hooks.state', severity, `${title}: ${text}`, { subject: flavor, ...(fix ? { fix } : {}) })
  if (status.problem) return say('warning', status.problem, install)
  if (status.installedCount === 0)
    return say('info', 'no hooks; sessions are read when you sweep', `${install} --dry-run`)
  if (status.obstacle) return say('warning', status.obstacle.what, `recollect hooks status --agent ${flavor}`)
  const fired = status.fired ? `last fired ${ageText(now - status.fired.at)} ago` : 'never fired yet'
  return say('ok', `${status.installedCount} of ${status.wantedCount} hooks, ${fired}`)
}

function scheduleFindings({ config, now }: AgentContext, schedules: readonly ScheduleStatus[]): Finding[] {
  if (schedules.length === 0)
    return [
      finding('schedule.state', 'info', 'nothing is scheduled', {
        fix: 'recollect schedule install --dry-run',
      }),
    ]
  const { fullAt } = readSpoolState(config.home)
  const last = fullAt === 0 ? 'no sweep yet' : `last sweep ${ageText(now - fullAt)} ago`
  return schedules.map(({ scheduler, every, problem }) => {
    const text = `${scheduler}${every ? `, ${every}` : ''}, ${last}`
    const about = { subject: scheduler }
    if (problem)
      return finding('schedule.state', 'warning', `${scheduler}: ${problem}`, {
        ...about,
        fix: 'recollect schedule install',
      })
    // A machine that was off, or a laptop over a weekend, is no fault.
    const patience = (every === undefined ? 7 * DAY : EVERY_MS[every]) + 3 * DAY
    if (fullAt !== 0 && now - fullAt > patience)
      return finding('schedule.state', 'warning', `${text}: it does not seem to run`, {
        ...about,
        fix: 'recollect schedule status, then recollect schedule install',
      })
    return finding('schedule.state', 'ok', text, about)
  })
}

function mcpFindings({ config, env }: AgentContext, { flavor, title }: Integration): Finding[] {
  const client = MCP_CLIENTS.find((one) => one.flavor === flavor)
  if (!client) return []
  let found: Registration
  try {
    found = lookAt(client, serverEntry(config, env), env)
  } catch (error) {
    return [finding('mcp.state', 'warning', (error as Error).message, { fix: 'npm install -g recollect' })]
  }
  // Only the agent's own program tells what it has registered.
  if (found.program === undefined) return []
  const fix = `recollect mcp install --agent ${flavor}`
  if (found.registered === undefined)
    return [finding('mcp.state', 'info', `${title} does not know the MCP server`, { subject: flavor, fix })]
  return found.isCurrent
    ? [finding('mcp.state', 'ok', `${title} knows the MCP server`, { subject: flavor })]
    : [
        finding('mcp.state', 'warning', `${title} starts another one: ${found.registered}`, {
          subject: flavor,
          fix,
        }),
      ]
}
