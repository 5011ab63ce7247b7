// What rows from before adapters told it do, how they ended and what they mean: judged once, when the columns are added, by the
// names of tools and by the English in summaries, as well as that can be done. Nothing else reads either. A source that is
// read again tells it better.
import {
  DEEDS,
  type Deed,
  END_STATES,
  type EndState,
  EVENT_KINDS,
  type EventKind,
  MARKS,
  type Mark,
} from '../model.ts'
import type { Database } from './database.ts'
import { ROLES } from './rows.ts'

const SHELL = /shell|bash|terminal|command|powershell|(?:^|[._])(?:exec|cmd|run)(?:$|[._])/i
export const isShellName = (tool: string): boolean => SHELL.test(tool)

/** What the next process writes for a call that was running when the last one ended. */
const CUT_OFF = /^\[?tool call interrupted: the session ended/i
/** How clients answer a call whose command goes on in the background. */
const GOES_ON = /^(?:command|process|task|shell)\b.{0,120}\b(?:background(?:ed)?|session id)\b/i
/** How somebody stopped the agent. What people type into a running turn may hold the same words further on. */
const STOP =
  /^(?:\[request |turn (?:ended: )?|run |permission for .*: )?(?:interrupted|aborted|cancell?ed|rejected)\b/i
const COMPACTED = /\b(?:conversation|context|auto[- ]compact) ?(?:compacted|completed)\b|^compacted:/i
const DENIED =
  /\b(?:requires? approval|permission|not (?:been )?(?:allowed|permitted|granted)|operation not permitted|sandbox denied|denied by|rejected by)\b/i
const PULL_REQUEST = /\/(?:pull|pulls|merge_requests|pull-requests)\/\d/

interface Row {
  id: number
  kind: number
  role: number
  summary: string
  exit_code: number | null
}

const kind = (name: EventKind): number => EVENT_KINDS.indexOf(name)
const TOOL = ROLES.indexOf('tool')
const CALLS = (['tool_call', 'edit', 'test_run', 'retry'] as const).map(kind).join(',')
const AT_ONCE = 4096

export function fillMarks(cache: Database): void {
  fillDeeds(cache)
  const read = cache.prepare(
    `SELECT id, kind, role, summary, exit_code FROM events WHERE id > ? AND (role = ${TOOL}
     OR kind IN (${(['human_intervention', 'lifecycle', 'completion', 'error'] as const).map(kind).join(',')}))
     ORDER BY id LIMIT ${AT_ONCE}`,
  )
  const write = cache.prepare('UPDATE events SET state = ?, mark = ? WHERE id = ?')
  for (let after = 0; ; ) {
    const rows = read.all(after) as unknown as Row[]
    for (const row of rows) {
      const [state, mark] = [stateOf(row), markOf(row)]
      if (state || mark)
        write.run(state ? END_STATES.indexOf(state) : null, mark ? MARKS.indexOf(mark) : null, row.id)
    }
    if (rows.length < AT_ONCE) return
    after = (rows.at(-1) as Row).id
  }
}

/** A tool that edited once in a session edits when it is tried again. */
function fillDeeds(cache: Database): void {
  const tools = cache.prepare('SELECT DISTINCT tool FROM events WHERE tool IS NOT NULL').all() as unknown as {
    tool: string
  }[]
  const set = cache.prepare(
    `UPDATE events SET does = ? WHERE tool = ? AND role <> ${TOOL} AND kind IN (${CALLS})`,
  )
  const deed = (does: Deed): number => DEEDS.indexOf(does)
  for (const { tool } of tools) set.run(deed(isShellName(tool) ? 'shell' : 'other'), tool)
  cache.exec(`UPDATE events SET does = ${deed('edit')} WHERE kind = ${kind('edit')} AND tool IS NOT NULL;
    UPDATE events SET does = ${deed('edit')} WHERE kind = ${kind('retry')} AND does = ${deed('other')} AND EXISTS
      (SELECT 1 FROM events e WHERE e.session = events.session AND e.tool = events.tool AND e.kind = ${kind('edit')})`)
}

function stateOf(row: Row): EndState | null {
  if (row.role !== TOOL) return null
  if (CUT_OFF.test(row.summary)) return 'cut'
  if (row.kind === kind('human_intervention'))
    return isChanged(row) ? 'ok' : isInterrupt(row) ? 'stopped' : 'refused'
  if (row.kind === kind('error') || (row.exit_code ?? 0) !== 0) return 'failed'
  return row.exit_code === null && GOES_ON.test(row.summary) ? 'background' : 'ok'
}

function markOf(row: Row): Mark | null {
  const { summary } = row
  switch (EVENT_KINDS[row.kind]) {
    case 'human_intervention':
      if (isChanged(row)) return 'changed-by-person'
      return isInterrupt(row) ? 'interrupt' : STOP.test(summary) ? 'denied' : null
    case 'lifecycle':
      if (summary.startsWith('interrupted by the end of the process')) return 'shutdown'
      if (/^turn took \d/.test(summary)) return 'turn-end'
      return COMPACTED.test(summary) ? 'compaction' : null
    case 'completion':
      return /^turn\b/i.test(summary) ? 'turn-end' : PULL_REQUEST.test(summary) ? 'made' : null
    case 'error':
      if (row.role !== TOOL) return /\bhook\b/i.test(summary) ? 'hook' : null
      return row.exit_code === null && DENIED.test(summary) ? 'denied' : null
    default:
      return null
  }
}

const isChanged = ({ role, summary }: Row): boolean =>
  role === TOOL && summary.startsWith('changed by a person')

/** A refusal is none. */
const isInterrupt = ({ summary }: Row): boolean => STOP.test(summary) && !/\brejected\b/i.test(summary)
