// Whose question it is: the caller's own session is left out of what the server finds, since the caller knows it already.
// Known from the variables agents set for what they start, else as the session that is going on in the same directory.
import type { Environment } from '../adapters/adapter.ts'
import { MCP_CLIENTS } from '../adapters/mcp.ts'
import { sessionUid } from '../model.ts'
import type { ReadHandle } from '../store/store.ts'

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
export function ownSessions(handle: Pick<ReadHandle, 'memory'>, caller: Caller): Set<string> {
  const own = new Set(caller.named === undefined ? namedIn(caller.env) : [caller.named])
  if (own.size === 0 && caller.cwd !== undefined) {
    const rows = handle.memory
      .prepare("SELECT session_uid FROM sessions WHERE cwd = ? AND ended_at >= ? AND relation <> 'subagent'")
      .all(caller.cwd, caller.startedAt) as unknown as { session_uid: string }[]
    for (const row of rows) own.add(row.session_uid)
  }
  const children = handle.memory.prepare(
    "SELECT session_uid FROM edges WHERE parent_uid = ? AND kind = 'subagent'",
  )
  // A set hands out what is added to it while it is walked.
  for (const uid of own)
    for (const child of children.all(uid) as unknown as { session_uid: string }[]) own.add(child.session_uid)
  return own
}

function namedIn(env: Environment): string[] {
  return MCP_CLIENTS.flatMap(({ flavor, sessionVariable }) => {
    const id = sessionVariable === undefined ? undefined : env[sessionVariable]
    return id ? [sessionUid(flavor, id)] : []
  })
}
