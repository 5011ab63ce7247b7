// Makes our MCP server known to an agent, and unknown again, in the JSON file that holds its servers: as a plan first. Every
// other byte of the file stays.
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { parse } from 'jsonc-parser'
import type { Environment } from '../adapters/adapter.ts'
import { isRecord } from '../adapters/kit/guards.ts'
import type { McpFile, McpServerEntry } from '../adapters/mcp.ts'
import { LENIENT, putValue, removeValue } from './json-text.ts'
import { bodyOf, checkSettings, edited, refuse } from './settings.ts'
import { lookAtFile, readText, type SettingsPlan } from './settings-file.ts'

export interface McpFilePlan extends SettingsPlan {
  client: McpFile
  /** The command the server is registered with now. */
  registered: string | undefined
  isCurrent: boolean
  action: 'none' | 'add' | 'replace' | 'remove'
}

const BACKUP = '.before-recollect-mcp'

/** Whether the agent has been here. */
export const isHere = ({ file }: McpFile, env: Environment): boolean => existsSync(dirname(file(env)))

/** What is registered now; changes nothing. */
export function lookAtMcpFile(client: McpFile, entry: McpServerEntry, env: Environment): McpFilePlan {
  const plan = lookAtFile(client.file(env), BACKUP)
  const found = serversIn(plan.before ?? '', client, plan.file)[entry.name]
  const { command, args } = Object(found) as { command?: unknown; args?: unknown }
  const registered =
    found === undefined
      ? undefined
      : [command, ...(Array.isArray(args) ? args : [])].flat().map(String).join(' ')
  const isCurrent = JSON.stringify(found) === JSON.stringify(serverOf(client, entry))
  return { ...plan, client, registered, isCurrent, action: 'none' }
}

export function planMcpAdd(client: McpFile, entry: McpServerEntry, env: Environment): McpFilePlan {
  const plan = lookAtMcpFile(client, entry, env)
  if (plan.isCurrent) return plan
  const after = withServer(plan.before ?? '', client, entry, plan.file)
  if (plan.registered !== undefined) return { ...plan, after, action: 'replace' }
  return { ...plan, after, action: 'add', writesBackup: plan.before !== undefined }
}

export function planMcpRemove(client: McpFile, entry: McpServerEntry, env: Environment): McpFilePlan {
  const plan = lookAtMcpFile(client, entry, env)
  const { before, file, backup } = plan
  if (before === undefined || plan.registered === undefined) return plan
  const removal = { ...plan, action: 'remove' as const }
  const isMade = (from: string): boolean => withServer(from, client, entry, file) === before
  const saved = readText(backup)
  // Nothing else has changed since: give back the very bytes.
  if (saved !== undefined && isMade(saved)) return { ...removal, after: saved, removesBackup: true }
  if (isMade('')) return { ...removal, after: undefined }
  return { ...removal, after: changed(before, client, entry, file, removeValue) }
}

const keyOf = ({ key = 'mcpServers' }: McpFile): string => key

function serverOf({ more, hasLists }: McpFile, { command, env }: McpServerEntry): Record<string, unknown> {
  const hasVariables = Object.keys(env).length > 0
  if (hasLists) return { ...more, command, ...(hasVariables ? { environment: env } : {}) }
  const [program, ...args] = command
  return { ...more, command: program, args, ...(hasVariables ? { env } : {}) }
}

const withServer = (text: string, client: McpFile, entry: McpServerEntry, where: string): string =>
  changed(text, client, entry, where, (body, path) => putValue(body, path, serverOf(client, entry)))

function changed(
  text: string,
  client: McpFile,
  { name }: McpServerEntry,
  where: string,
  change: (body: string, path: string[]) => string,
): string {
  const key = keyOf(client)
  const others = (body: string): string => {
    const { [name]: _, ...servers } = serversIn(body, client, where)
    return JSON.stringify([{ ...(parse(body, [], LENIENT) as object), [key]: undefined }, servers])
  }
  return edited(text, where, (body) => change(body, [key, name]), others)
}

/** Throws BAD_INPUT for a file that is no such settings file. */
function serversIn(text: string, client: McpFile, where: string): Record<string, unknown> {
  const body = bodyOf(text)
  checkSettings(body, where)
  const servers = (parse(body, [], LENIENT) as Record<string, unknown>)[keyOf(client)]
  if (servers === undefined) return {}
  if (isRecord(servers)) return servers
  return refuse(`"${keyOf(client)}" is no object`, where)
}
