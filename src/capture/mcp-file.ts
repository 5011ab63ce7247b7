// Makes our MCP server known to an agent, and unknown again, in the JSON file that holds its servers: as a plan first. Every
// other byte of the file stays.
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { parse } from 'jsonc-parser'
import type { Environment } from '../adapters/adapter.ts'
import type { McpFile, McpServerEntry } from '../adapters/mcp.ts'
import { RecollectError } from '../errors.ts'
import { addValue, hasValue, LENIENT, removeValue, replaceValue } from './json-text.ts'
import { checkSettings } from './settings.ts'
import { lookAtFile, readText, type SettingsPlan } from './settings-file.ts'

export interface McpFilePlan extends SettingsPlan {
  client: McpFile
  /** The command the server is registered with now. */
  registered: string | undefined
  isCurrent: boolean
  action: 'none' | 'add' | 'replace' | 'remove'
}

const BACKUP = '.before-recollect-mcp'
const BOM = '\ufeff'

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
  return { ...removal, after: edited(before, client, entry, file, (body, path) => removeValue(body, path)) }
}

const keyOf = ({ key = 'mcpServers' }: McpFile): string => key

function serverOf({ more, hasLists }: McpFile, { command, env }: McpServerEntry): Record<string, unknown> {
  const hasVariables = Object.keys(env).length > 0
  if (hasLists) return { ...more, command, ...(hasVariables ? { environment: env } : {}) }
  const [program, ...args] = command
  return { ...more, command: program, args, ...(hasVariables ? { env } : {}) }
}

const withServer = (text: string, client: McpFile, entry: McpServerEntry, where: string): string =>
  edited(text, client, entry, where, (body, path) => {
    const value = serverOf(client, entry)
    const [key, name] = path
    if (hasValue(body, path)) return replaceValue(body, path, value)
    return hasValue(body, [key])
      ? addValue(body, [key], value, name)
      : addValue(body, [], { [name]: value }, key)
  })

/** The edit, unless it would change anything else. */
function edited(
  text: string,
  client: McpFile,
  { name }: McpServerEntry,
  where: string,
  edit: (body: string, path: [key: string, name: string]) => string,
): string {
  const body = bare(text)
  const result = edit(body, [keyOf(client), name])
  const others = (one: string): string => {
    const { [name]: _, ...servers } = serversIn(one, client, where)
    return JSON.stringify([{ ...(parse(one, [], LENIENT) as object), [keyOf(client)]: undefined }, servers])
  }
  if (others(body) === others(result)) return text.startsWith(BOM) ? BOM + result : result
  throw new RecollectError('BAD_INPUT', 'the file is written in a way that cannot be edited safely', {
    where,
    hint: 'nothing was changed; format the file as plain JSON, then try again',
  })
}

/** An empty file says nothing. */
function bare(text: string): string {
  const body = text.startsWith(BOM) ? text.slice(1) : text
  return body.trim() === '' ? '{}\n' : body
}

/** Throws BAD_INPUT for a file that is no such settings file. */
function serversIn(text: string, client: McpFile, where: string): Record<string, unknown> {
  const body = bare(text)
  checkSettings(body, where)
  const servers = (parse(body, [], LENIENT) as Record<string, unknown>)[keyOf(client)]
  if (servers === undefined) return {}
  if (typeof servers === 'object' && servers !== null && !Array.isArray(servers))
    return servers as Record<string, unknown>
  throw new RecollectError('BAD_INPUT', `"${keyOf(client)}" is no object`, {
    where,
    hint: 'fix the file by hand; nothing was changed',
  })
}
