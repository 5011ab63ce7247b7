// What doctor can find: each finding has an id that never changes, a severity, and the command that mends it.

export type Severity = 'ok' | 'info' | 'warning' | 'error'

/** Every id, with what it is about. Additive only; docs/doctor.md explains each. */
export const FINDING_IDS = {
  'node.version': 'the Node that runs us',
  'config.invalid': 'config.toml, or a setting in it, is not understood',
  'home.access': 'who else may read the memory, and whether we may write it',
  'disk.space': 'room on the disk of the memory',
  'memory.missing': 'whether anything was ever swept',
  'memory.schema': 'the databases were made by another version',
  'memory.integrity': 'the databases and what they refer to',
  'memory.size': 'the tiers against their caps',
  'memory.loss': 'un-analyzed sessions that had to be dropped',
  'memory.raw': 'raw sessions that are gone although nobody evicted them',
  'memory.analysis': 'sessions that were read and not analyzed yet',
  'sweep.age': 'when everything was last looked at',
  'spool.pending': 'hooks that fired and were not seen to',
  'prices.age': 'how old the price list is',
  'prices.unknown': 'models without a price',
  'agent.found': 'an agent whose files are here',
  'agent.none': 'no agent has left anything',
  'agent.retention': 'an agent deletes its transcripts: whether we read them in time',
  'agent.deletes': 'what an agent is about to delete, and whether it is kept here',
  'capture.automatic': 'whether anything reads sessions without being asked',
  'hooks.state': "hooks in an agent's settings",
  'schedule.state': 'the sweep that the system starts',
  'mcp.state': 'whether an agent knows the MCP server',
  'source.plugin': 'modules that the settings name to read other agents',
  'source.empty': 'directories that the settings name and that hold no session',
  'source.unreadable': 'files of agents that cannot be read',
  'source.gaps': 'bytes of sources that were not understood',
  'source.drift': 'record types nobody has described',
} as const
export type FindingId = keyof typeof FINDING_IDS

export interface Finding {
  id: FindingId
  severity: Severity
  /** Which agent or file it is about, where there are several. */
  subject: string | null
  text: string
  /** The command that mends it, or what to do; null where nothing has to be done. */
  fix: string | null
}

export function finding(
  id: FindingId,
  severity: Severity,
  text: string,
  more: { fix?: string; subject?: string } = {},
): Finding {
  return { id, severity, subject: more.subject ?? null, text, fix: more.fix ?? null }
}

/** `3 h`, `12 d`: enough to judge by. */
export function ageText(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000))
  if (minutes === 0) return 'under 1 min'
  if (minutes < 120) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 72 ? `${hours} h` : `${Math.floor(hours / 24)} d`
}
