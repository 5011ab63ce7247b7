// The declaration of an agent: all that the rest of the program knows of it by name. One folder declares one, in its
// `agent.ts`; `index.ts` lists them. Every command loads the declarations, so they are light: the reader is loaded when
// there is something to read.
import type { LazyAdapter } from './adapter.ts'
import type { Integration } from './integration.ts'
import type { McpClient, McpFile } from './mcp.ts'

export interface Agent extends LazyAdapter {
  /** What people call it. */
  readonly title: string
  /** Whose models it talks to, by the names of the OpenTelemetry conventions; left out where it talks to anybody's. */
  readonly provider?: string
  /** What else people call its flavor: accepted wherever a flavor is. */
  readonly aliases?: readonly string[]
  /** Its ids count on each machine from the beginning: to others a session is told with the id of its machine behind its own. */
  readonly hasLocalIds?: true
  /** Where its settings stand, its hooks, and how long it keeps its own files. */
  readonly integration?: Omit<Integration, 'flavor' | 'title'>
  /** As a client of our MCP server. */
  readonly mcp?: Omit<McpClient, 'flavor'>
  /** The same, where its program does not write its configuration for us. */
  readonly mcpFile?: Omit<McpFile, 'flavor' | 'title'>
  /** The command that takes a session up again. The id is one word to a shell. */
  resume?(nativeId: string): string
  /** The program and its arguments that begin a session with a prompt and stay for more. */
  start?(prompt: string): readonly [program: string, ...args: string[]]
}
