// The prompts of a session as an outline to jump by: what each led to, in a few figures.
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { wordsOf } from '../../../event/words.ts'
import type { Outline } from '../../../query/outline.ts'
import type { EventWithBody } from '../../server/events.ts'
import type { Bodies } from '../bodies.ts'
import { count, duration, plural } from '../format.ts'
import { withParams } from '../router.ts'
import { plainly, redacted } from '../text/plain.tsx'
import { isPrompt } from './transcript-keys.ts'
import type { Row } from './transcript-rows.ts'

const SHOWN = 200

interface Turn {
  row: Row
  steps: number
  errors: number
  edits: number
  tookMs: number
}

const EDIT = 16
const NAME_LENGTH = 200

/** How it begins, as far as two lines can show it: a first line alone may be a heading that all of them have. */
const nameOf = (event: EventWithBody | undefined): string =>
  event ? plainly(wordsOf(event, event.told).slice(0, NAME_LENGTH)) : ''

/** Each prompt with what came until the next. */
function turnsOf(rows: readonly Row[], outline: Outline | undefined, errors: ReadonlySet<number>): Turn[] {
  const turns: Turn[] = []
  const timeOf = (row: Row): number | null => outline?.at[row.at] ?? null
  for (const row of rows) {
    if (isPrompt(row)) turns.push({ row, steps: 0, errors: 0, edits: 0, tookMs: 0 })
    const turn = turns.at(-1)
    if (!turn || turn.row === row || row.agent || row.uid !== turn.row.uid) continue
    turn.steps++
    const hasFailed = errors.has(row.seq) || errors.has(row.answer)
    if (hasFailed) turn.errors++
    else if ((row.flags & EDIT) !== 0) turn.edits++
    const [from, to] = [timeOf(turn.row), row.depth === 0 ? timeOf(row) : null]
    if (from !== null && to !== null) turn.tookMs = Math.max(turn.tookMs, to - from)
  }
  return turns
}

export function PromptRail(props: {
  rows: readonly Row[]
  outline: Outline | undefined
  errors: ReadonlySet<number>
  bodies: Bodies
  current: number
}): JSX.Element | null {
  const { rows, outline, errors, bodies } = props
  const turns = useMemo(() => turnsOf(rows, outline, errors), [rows, errors])
  const at = turns.findLastIndex((turn) => turn.row.at <= props.current)
  const from = Math.max(0, Math.min(at - SHOWN / 2, turns.length - SHOWN))
  const shown = turns.slice(from, from + SHOWN)
  useEffect(() => bodies.want(shown.map((turn) => turn.row)))
  if (turns.length === 0) return null
  return (
    <nav class="rail" aria-label="prompts">
      <h2>
        {count(turns.length)} {turns.length === 1 ? 'prompt' : 'prompts'}
      </h2>
      <ol start={from + 1}>
        {shown.map((turn) => (
          <li>
            <a
              href={withParams({ seq: String(turn.row.seq) })}
              aria-current={turn === turns[at] ? 'location' : undefined}
            >
              <span class="rail-prompt">
                {redacted(nameOf(bodies.get(turn.row.uid, turn.row.seq)) || `#${turn.row.seq}`)}
              </span>
              <span class="rail-facts muted">
                {plural(turn.steps, 'step')}
                {turn.edits > 0 && ` · ${plural(turn.edits, 'edit')}`}
                {turn.errors > 0 && <span class="rail-errors"> · {plural(turn.errors, 'error')}</span>}
                {turn.tookMs > 0 && ` · ${duration(turn.tookMs / 1000)}`}
              </span>
            </a>
          </li>
        ))}
      </ol>
    </nav>
  )
}
