// `recollect mcp install|uninstall|status`: thin over mcp/register.ts, which plans and applies.
import { MCP_CLIENTS, type McpClient, type McpServerEntry } from '../adapters/mcp.ts'
import { Config } from '../config.ts'
import type { RecollectError } from '../errors.ts'
import {
  applyRegistration,
  commandText,
  lookAt,
  planRegister,
  planUnregister,
  type Registration,
  serverEntry,
} from '../mcp/register.ts'
import { reportError } from './exit.ts'
import { print, printFolded, printJson } from './print.ts'
import { parseChoices } from './values.ts'

export interface RegisterCommand {
  agent?: string[]
  dryRun?: boolean
  json?: boolean
}

export async function installMcp(options: RegisterCommand): Promise<void> {
  await change(options, planRegister)
}

export async function uninstallMcp(options: RegisterCommand): Promise<void> {
  await change(options, planUnregister)
}

export async function showMcp(options: RegisterCommand): Promise<void> {
  const entry = serverEntry(new Config(), process.env)
  const found = await Promise.all(pick(options.agent).map((client) => lookAt(client, entry, process.env)))
  if (options.json) printJson({ agents: found.map(toJson) })
  else for (const one of found) printFolded(`${one.client.program.padEnd(8)} ${stateOf(one)}`, 9)
}

function stateOf({ program, registered, isCurrent, isSilent }: Registration): string {
  if (program === undefined) return 'not on the PATH; recollect mcp install tells what to run by hand'
  if (isSilent) return 'did not answer in time: start it once by hand to see why'
  if (registered === undefined) return 'not registered: recollect mcp install'
  return isCurrent ? 'registered' : `registered with another command: ${registered}`
}

type Planner = (client: McpClient, entry: McpServerEntry, env: NodeJS.ProcessEnv) => Promise<Registration>

/** One agent that refuses keeps no other from being changed. */
async function change(options: RegisterCommand, planner: Planner): Promise<void> {
  const entry = serverEntry(new Config(), process.env)
  const done: Record<string, unknown>[] = []
  const plans = await Promise.all(pick(options.agent).map((client) => planner(client, entry, process.env)))
  for (const plan of plans) {
    try {
      if (!options.dryRun) await applyRegistration(plan, process.env)
      done.push(toJson(plan))
      if (!options.json) print(planText(plan, options.dryRun ?? false))
    } catch (error) {
      process.exitCode = reportError(error)
      done.push({ ...toJson(plan), error: (error as RecollectError).message })
    }
  }
  if (options.json) printJson({ dry_run: options.dryRun ?? false, agents: done })
}

const DONE = { add: 'registered', replace: 'registered anew', remove: 'removed' }

export function planText({ client, action, commands }: Registration, isDryRun: boolean): string {
  const lines = commands.map((command) => `  ${commandText(command)}`)
  if (action === 'none') return `${client.program}: nothing to do`
  if (action === 'by_hand') return [`${client.program}: not on the PATH; by hand:`, ...lines].join('\n')
  return isDryRun
    ? [`${client.program}: would run`, ...lines].join('\n')
    : `${client.program}: ${DONE[action]}`
}

const toJson = ({ client, program, registered, isCurrent, action, commands }: Registration) => ({
  agent: client.flavor,
  program: program ?? null,
  registered: registered ?? null,
  current: isCurrent,
  action,
  commands: commands.map(commandText),
})

function pick(names: readonly string[] | undefined): McpClient[] {
  if (names === undefined) return [...MCP_CLIENTS]
  const flavors = MCP_CLIENTS.map((client) => client.flavor)
  const chosen = names.flatMap((name) => parseChoices(name, flavors, '--agent', 'agent'))
  return MCP_CLIENTS.filter((client) => chosen.includes(client.flavor))
}
