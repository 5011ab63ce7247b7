// `recollect mcp install|uninstall|status`: thin over mcp/register.ts, which plans and applies.
import { MCP_CLIENTS, MCP_FILES, type McpClient, type McpFile, type McpServerEntry } from '../adapters/mcp.ts'
import { isHere, lookAtMcpFile, type McpFilePlan, planMcpAdd, planMcpRemove } from '../capture/mcp-file.ts'
import { applySettings } from '../capture/settings-file.ts'
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
import { printCsv } from './csv.ts'
import { diffOf } from './diff.ts'
import { reportError } from './exit.ts'
import { print, printFolded, printJson } from './print.ts'
import { parseAgents } from './values.ts'

export interface RegisterCommand {
  agent?: string[]
  dryRun?: boolean
  json?: boolean
  csv?: boolean
}

export async function installMcp(options: RegisterCommand): Promise<void> {
  await change(options, planRegister, planMcpAdd)
}

export async function uninstallMcp(options: RegisterCommand): Promise<void> {
  await change(options, planUnregister, planMcpRemove)
}

export async function showMcp(options: RegisterCommand): Promise<void> {
  const entry = serverEntry(new Config(), process.env)
  const { clients, files } = pick(options.agent)
  const found = await Promise.all(clients.map((client) => lookAt(client, entry, process.env)))
  const inFiles = files.map((client) => lookAtMcpFile(client, entry, process.env))
  const agents = [...found.map(toJson), ...inFiles.map(fileJson)]
  if (options.json) printJson({ agents })
  else if (options.csv) printCsv(agents)
  else for (const one of [...found, ...inFiles]) printFolded(`${nameOf(one).padEnd(8)} ${stateOf(one)}`, 9)
}

const nameOf = (one: Registration | McpFilePlan): string =>
  'program' in one.client ? one.client.program : one.client.flavor

function stateOf(one: Registration | McpFilePlan): string {
  const { registered, isCurrent } = one
  if ('program' in one && one.program === undefined)
    return 'not on the PATH; recollect mcp install tells what to run by hand'
  if ('isSilent' in one && one.isSilent) return 'did not answer in time: start it once by hand to see why'
  if (registered === undefined) return 'not registered: recollect mcp install'
  return isCurrent ? 'registered' : `registered with another command: ${registered}`
}

type Planner = (client: McpClient, entry: McpServerEntry, env: NodeJS.ProcessEnv) => Promise<Registration>

/** One agent that refuses keeps no other from being changed. */
async function change(
  options: RegisterCommand,
  planner: Planner,
  planFile: typeof planMcpAdd,
): Promise<void> {
  const entry = serverEntry(new Config(), process.env)
  const done: Record<string, unknown>[] = []
  const { clients, files } = pick(options.agent)
  const plans = await Promise.all(clients.map((client) => planner(client, entry, process.env)))
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
  for (const client of files) {
    try {
      const plan = planFile(client, entry, process.env)
      if (!options.dryRun) applySettings(plan)
      done.push(fileJson(plan))
      if (!options.json) print(filePlanText(plan, options.dryRun ?? false))
    } catch (error) {
      process.exitCode = reportError(error)
      done.push({ agent: client.flavor, error: (error as RecollectError).message })
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

function filePlanText(plan: McpFilePlan, isDryRun: boolean): string {
  const { client, action, file, backup, writesBackup } = plan
  if (action === 'none') return `${client.flavor}: nothing to do`
  const lines = isDryRun
    ? [`${client.flavor}: would change ${file}`, diffOf({ ...plan, path: file }).trimEnd()]
    : [`${client.flavor}: ${DONE[action]} in ${file}`]
  if (writesBackup) lines.push(`  ${isDryRun ? 'would keep' : 'kept'} what was there in ${backup}`)
  return lines.join('\n')
}

const fileJson = ({ client, file, registered, isCurrent, action }: McpFilePlan) => ({
  agent: client.flavor,
  program: null,
  file,
  registered: registered ?? null,
  current: isCurrent,
  action,
  commands: [],
})

const toJson = ({ client, program, registered, isCurrent, action, commands }: Registration) => ({
  agent: client.flavor,
  program: program ?? null,
  file: null,
  registered: registered ?? null,
  current: isCurrent,
  action,
  commands: commands.map(commandText),
})

/** Without names: every agent with a program for it, and of the others those that have been here. */
function pick(names: readonly string[] | undefined): { clients: readonly McpClient[]; files: McpFile[] } {
  if (names === undefined)
    return { clients: MCP_CLIENTS, files: MCP_FILES.filter((one) => isHere(one, process.env)) }
  const flavors = [...MCP_CLIENTS, ...MCP_FILES].map((client) => client.flavor)
  const chosen = names.flatMap((name) => parseAgents(name, flavors, 'agent with an MCP client'))
  return {
    clients: MCP_CLIENTS.filter((client) => chosen.includes(client.flavor)),
    files: MCP_FILES.filter((client) => chosen.includes(client.flavor)),
  }
}
