// Agents as clients of our MCP server: how the server is made known to each of them, and how it tells whose session asks.
import type { Environment } from './adapter.ts'
import { ADAPTERS } from './index.ts'

export interface McpServerEntry {
  name: string
  /** Program and arguments. */
  command: readonly string[]
  /** Variables the server needs: not every agent hands its own environment on. */
  env: Record<string, string>
}

export interface McpClient {
  flavor: string
  /** The agent's own program, which alone writes its configuration. */
  program: string
  /** Variable in which the agent tells the programs it starts the id of the session. */
  sessionVariable?: string
  /** The id of the session that asks, from the metadata of a request. */
  sessionOf?: (meta: Record<string, unknown>) => string | undefined
  add: (entry: McpServerEntry) => string[]
  remove: (name: string) => string[]
  /** Prints how a server is registered, to be read by `registered`. */
  show: (name: string) => string[]
  /** The command a server is registered with, as one text; undefined where it is not. */
  registered: (name: string, output: { code: number; stdout: string }) => string | undefined
}

/** A client whose servers stand by their names in an object of a JSON file. */
export interface McpFile {
  flavor: string
  title: string
  file: (env: Environment) => string
  /** Under which key of the file; `mcpServers` where left out. */
  key?: string
  /** Fields beside `command`, `args` and `env`. */
  more?: Record<string, unknown>
  /** `command` is a list, with the arguments in it, and variables stand in `environment`. */
  hasLists?: boolean
}

export const MCP_FILES: readonly McpFile[] = ADAPTERS.flatMap(({ flavor, title, mcpFile }) =>
  mcpFile ? [{ flavor, title, ...mcpFile }] : [],
)

export const MCP_CLIENTS: readonly McpClient[] = ADAPTERS.flatMap(({ flavor, mcp }) =>
  mcp ? [{ flavor, ...mcp }] : [],
)
