// Rows from before adapters told what an event does, how it ended and what it means: judged once, when the columns are added.
import { expect, it } from 'vitest'
import { DEEDS, END_STATES, EVENT_KINDS, type EventKind, MARKS, type Role } from '../src/model.ts'
import { connect } from '../src/sqlite/driver.ts'
import { CACHE_MIGRATIONS } from '../src/store/cache-schema.ts'
import type { Database } from '../src/store/database.ts'
import { ROLES, wordOf } from '../src/store/rows.ts'

type Row = [kind: EventKind, role: Role, tool: string | null, summary: string, exitCode?: number]

const apply = (cache: Database, steps: typeof CACHE_MIGRATIONS): void => {
  for (const step of steps) typeof step === 'string' ? cache.exec(step) : step(cache)
}

/** What becomes of them, as words without those that are not known. */
function judged(rows: readonly Row[]): string[] {
  const cache = connect(':memory:')
  const last = CACHE_MIGRATIONS.findIndex((step) => typeof step !== 'string' && step.name === 'addMarks')
  apply(cache, CACHE_MIGRATIONS.slice(0, last))
  const insert = cache.prepare(
    `INSERT INTO events (session, seq, key, kind, role, tool, summary, flags, exit_code, payload)
     VALUES (1, ?, ?, ?, ?, ?, ?, 0, ?, x'00')`,
  )
  for (const [at, [kind, role, tool, summary, exitCode = null]] of rows.entries())
    insert.run(
      at,
      Buffer.from(`${at}`),
      EVENT_KINDS.indexOf(kind),
      ROLES.indexOf(role),
      tool,
      summary,
      exitCode,
    )
  apply(cache, CACHE_MIGRATIONS.slice(last))
  const found = cache.prepare('SELECT does, state, mark FROM events ORDER BY seq').all() as unknown as Record<
    'does' | 'state' | 'mark',
    number | null
  >[]
  cache.close()
  return found.map(({ does, state, mark }) =>
    [wordOf(DEEDS, does), wordOf(END_STATES, state), wordOf(MARKS, mark)].filter(Boolean).join(' '),
  )
}

it.each<[Row, string]>([
  [['tool_call', 'assistant', 'Bash', 'Bash: ls'], 'shell'],
  [['test_run', 'assistant', 'exec_command', 'exec_command: npm test'], 'shell'],
  [['edit', 'assistant', 'shell', 'Edit a.ts'], 'edit'],
  [['tool_call', 'assistant', 'Read', 'Read a.ts'], 'other'],
  [['retry', 'system', null, 'request failed, retrying'], ''],
  [['tool_result', 'tool', 'Bash', 'done', 0], 'ok'],
  [['tool_result', 'tool', 'Bash', 'exit 2: no', 2], 'failed'],
  [['error', 'tool', 'Bash', 'no such file'], 'failed'],
  [['error', 'tool', 'Bash', 'This command requires approval'], 'failed denied'],
  [['error', 'tool', 'Bash', '[Tool call interrupted: the session ended'], 'cut'],
  [['tool_result', 'tool', 'Bash', 'Command running in background with ID: 1'], 'background'],
  [['human_intervention', 'tool', 'Bash', 'The user does not want to proceed'], 'refused'],
  [['human_intervention', 'tool', 'Bash', '[Request interrupted by user for tool use]'], 'stopped interrupt'],
  [['human_intervention', 'tool', 'Edit', 'changed by a person: done'], 'ok changed-by-person'],
  [['human_intervention', 'user', null, 'turn ended: cancelled'], 'interrupt'],
  [['human_intervention', 'user', null, 'permission for sh: rejected'], 'denied'],
  [['human_intervention', 'user', null, 'queued: the job was cancelled, look again'], ''],
  [['human_intervention', 'user', null, 'also handle rejected promises'], ''],
  [['lifecycle', 'system', null, 'conversation compacted (auto)'], 'compaction'],
  [['lifecycle', 'system', null, 'interrupted by the end of the process'], 'shutdown'],
  [['lifecycle', 'system', null, 'turn took 12 ms'], 'turn-end'],
  [['completion', 'system', null, 'turn complete'], 'turn-end'],
  [['completion', 'assistant', null, 'ended with an answer'], ''],
  [['completion', 'system', null, 'pr-link https://example.org/a/pull/7'], 'made'],
  [['error', 'system', null, 'Stop hook failed: no'], 'hook'],
  [['user_msg', 'user', null, 'turn complete'], ''],
])('%j: %s', (row, words) => {
  expect(judged([row])).toEqual([words])
})

it('a tool that edited edits when it is tried again, a shell does not', () => {
  expect(
    judged([
      ['edit', 'assistant', 'patch', 'patch a.ts'],
      ['retry', 'assistant', 'patch', 'patch a.ts'],
      ['edit', 'assistant', 'shell', 'Edit a.ts'],
      ['retry', 'assistant', 'shell', 'shell: make'],
      ['retry', 'assistant', 'other', 'other: x'],
    ]),
  ).toEqual(['edit', 'edit', 'edit', 'shell', 'other'])
})
