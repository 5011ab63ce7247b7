// The end of the command that makes a server known: the agents agree on it.
import type { McpServerEntry } from '../mcp.ts'

/** Its name, its variables, and behind `--` its program with arguments. */
export const serverArguments = ({ name, command, env }: McpServerEntry): string[] => [
  name,
  ...Object.entries(env).flatMap(([key, value]) => ['--env', `${key}=${value}`]),
  '--',
  ...command,
]
