// The prompts of a session as a list to jump by.
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Bodies } from '../bodies.ts'
import { count } from '../format.ts'
import { useKeys } from '../keys.ts'
import { sessionPath, setParams } from '../router.ts'
import type { Row } from './transcript-rows.ts'

const SHOWN = 200

export function PromptRail(props: {
  uid: string
  rows: readonly Row[]
  bodies: Bodies
  current: number
}): JSX.Element | null {
  const prompts = props.rows.filter((row) => row.kind === 'user_msg' && row.depth === 0)
  const at = prompts.findLastIndex((row) => row.seq <= props.current)
  const from = Math.max(0, Math.min(at - SHOWN / 2, prompts.length - SHOWN))
  const shown = prompts.slice(from, from + SHOWN)
  useEffect(() => props.bodies.want(shown))
  const move = (by: number): void => {
    const next = prompts[Math.max(0, Math.min(prompts.length - 1, at + by))]
    if (next) setParams({ seq: String(next.seq) }, { replace: true })
  }
  useKeys({ j: () => move(1), k: () => move(-1) })
  if (prompts.length === 0) return null
  return (
    <nav class="rail" aria-label="prompts">
      <h2>
        {count(prompts.length)} {prompts.length === 1 ? 'prompt' : 'prompts'}
      </h2>
      <ol start={from + 1}>
        {shown.map((row) => (
          <li>
            <a
              href={sessionPath(props.uid, { seq: String(row.seq) })}
              aria-current={row === prompts[at] ? 'location' : undefined}
            >
              {props.bodies.get(row.uid, row.seq)?.summary ?? `#${row.seq}`}
            </a>
          </li>
        ))}
      </ol>
    </nav>
  )
}
