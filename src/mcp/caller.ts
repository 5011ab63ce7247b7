// Whose question it is: the caller's own session is left out of what the server finds, since the caller knows it already.
// Known from the variables agents set for what they start, else as the session that is going on in the same directory.
import type { Environment } from '../adapters/adapter.ts'
import { MCP_CLIENTS } from '../adapters/mcp.ts'
import { sessionUid } from '../model.ts'
import type { Reader } from '../store/reader/index.ts'

export interface Caller {
  env: Environment
  /** Where the server was started: in the working directory of the agent. Undefined over HTTP. */
  cwd?: string
  /** The session, where the request itself names it. */
  named?: string
  /** Epoch milliseconds. A session in `cwd` that has gone on since then is the caller's. */
  startedAt: number
}

/** The caller's session, where it is remembered, and the sub-agents below it. */
export function ownSessions(handle: Reader, caller: Caller): Set<string> {
  const own = new Set(caller.named === undefined ? namedIn(caller.env) : [caller.named])
  if (own.size === 0 && caller.cwd !== undefined)
    for (const uid of handle.sessions.ongoingIn(caller.cwd, caller.startedAt)) own.add(uid)
  // A set hands out what is added to it while it is walked.
  for (const uid of own) for (const child of handle.lineage.subagents(uid)) own.add(child.uid)
  return own
}

function namedIn(env: Environment): string[] {
  return MCP_CLIENTS.flatMap(({ flavor, sessionVariable }) => {
    const id = sessionVariable === undefined ? undefined : env[sessionVariable]
    return id ? [sessionUid(flavor, id)] : []
  })
}
