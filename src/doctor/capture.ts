// What reads sessions without being asked: hooks in the agents, a schedule of the system, a watcher; and whether agents know
// the server through which they can ask. Looks only; asks agents' own programs what they have registered.

import type { Integration } from '../adapters/integration.ts'
import { MCP_CLIENTS, MCP_FILES, type McpClient, type McpFile } from '../adapters/mcp.ts'
import { type HookStatus, lastFired, statusOf } from '../capture/hook-status.ts'
import { lookAtMcpFile } from '../capture/mcp-file.ts'
import { SCHEDULERS, type ScheduleStatus, scheduleStatus } from '../capture/schedule.ts'
import { EVERY_MS } from '../capture/schedule-text.ts'
import { isWatched } from '../capture/watch.ts'
import { commandText, lookAt, type Registration, SERVER_NAME, serverEntry } from '../mcp/register.ts'
import { DAY } from '../model.ts'
import { readSpoolState } from '../sources/spool.ts'
import type { AgentContext, AgentsHere } from './agents.ts'
import { ageText, type Finding, finding } from './finding.ts'

/** For an agent's program to answer; it may check its servers first. */
const PATIENCE_MS = 20_000

export async function checkCapture(
  context: AgentContext,
  { discovery, integrations: agents }: AgentsHere,
): Promise<Finding[]> {
  const isAnyHere = discovery.found.length > 0
  const isFound = (flavor: string): boolean => discovery.found.some((one) => one.adapter.flavor === flavor)
  const { config, env, adapters } = context
  const fired = lastFired(config.home, adapters)
  const hooks = agents.map((one) => statusOf(one, env, undefined, fired))
  const schedules = SCHEDULERS.map((one) => scheduleStatus(one, env)).filter((one) => one.found.length > 0)
  return [
    ...(isAnyHere ? [automatic(context, hooks, schedules)] : []),
    ...hooks.map((one) => hookFinding(context, one)),
    ...(isAnyHere ? scheduleFindings(context, schedules) : []),
    ...(await mcpFindings(context, agents)),
    ...MCP_FILES.filter((one) => isFound(one.flavor)).flatMap((one) => mcpFileFinding(context, one)),
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

/** Starting an agent takes seconds: all are asked at once, and none is waited for without end. */
async function mcpFindings(context: AgentContext, agents: readonly Integration[]): Promise<Finding[]> {
  const waited = new Set<string>()
  const answers = agents.map(async (one) => {
    const client = MCP_CLIENTS.find(({ flavor }) => flavor === one.flavor)
    if (!client) return []
    waited.add(client.program)
    const found = await mcpFinding(context, one, client)
    waited.delete(client.program)
    context.onWait?.([...waited])
    return found
  })
  context.onWait?.([...waited])
  return (await Promise.all(answers)).flat()
}

function mcpFileFinding({ config, env }: AgentContext, client: McpFile): Finding[] {
  try {
    const { registered, isCurrent } = lookAtMcpFile(client, serverEntry(config, env), env)
    return [stateFinding(client, registered, isCurrent)]
  } catch (error) {
    return [finding('mcp.state', 'warning', (error as Error).message, { subject: client.flavor })]
  }
}

function stateFinding(
  { flavor, title }: Pick<Integration, 'flavor' | 'title'>,
  registered: string | undefined,
  isCurrent: boolean,
): Finding {
  const say = (severity: Finding['severity'], text: string, fix?: string): Finding =>
    finding('mcp.state', severity, `${title} ${text}`, { subject: flavor, ...(fix ? { fix } : {}) })
  const install = `recollect mcp install --agent ${flavor}`
  if (registered === undefined) return say('info', 'does not know the MCP server', install)
  return isCurrent
    ? say('ok', 'knows the MCP server')
    : say('warning', `starts another one: ${registered}`, install)
}

async function mcpFinding(
  { config, env, patienceMs = PATIENCE_MS }: AgentContext,
  agent: Integration,
  client: McpClient,
): Promise<Finding[]> {
  let found: Registration
  try {
    found = await lookAt(client, serverEntry(config, env), env, patienceMs)
  } catch (error) {
    return [finding('mcp.state', 'warning', (error as Error).message, { fix: 'npm install -g recollect' })]
  }
  // Only the agent's own program tells what it has registered.
  if (found.program === undefined) return []
  if (!found.isSilent) return [stateFinding(agent, found.registered, found.isCurrent)]
  const text = `${agent.title} did not answer within ${patienceMs / 1000} s what it has registered`
  const fix = commandText([client.program, ...client.show(SERVER_NAME)])
  return [finding('mcp.state', 'warning', text, { subject: agent.flavor, fix })]
}
