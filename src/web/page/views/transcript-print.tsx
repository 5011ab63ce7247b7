// Printing a transcript. On screen only what is in view exists; on paper all of it has to, so its bodies are fetched first,
// up to a bound, and what is left out is said.
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { unreadOf } from '../../../query/unread.ts'
import type { EventWithBody } from '../../server/events.ts'
import { fetchBodies, isUnread } from '../bodies.ts'
import { count, plural } from '../format.ts'
import { UnreadNote } from '../parts.tsx'
import { sessionPath } from '../router.ts'
import { Step } from './event.tsx'
import type { Row } from './transcript-rows.ts'

/** More would make a browser stumble; a session this long is better exported. */
const MAX_ROWS = 3000
const AT_ONCE = 400

export interface Printing {
  start: () => void
  isLoading: boolean
  /** Set while the whole transcript stands on the page, by session and number. */
  bodies: ReadonlyMap<string, EventWithBody> | undefined
  problem: string | undefined
}

const keyOf = (uid: string, seq: number): string => `${uid}#${seq}`

async function bodiesOf(rows: readonly Row[]): Promise<Map<string, EventWithBody>> {
  const wanted = new Map<string, number[]>()
  for (const row of rows.slice(0, MAX_ROWS)) {
    const seqs = [row.seq, row.answer, row.agent?.firstSeq ?? 0].filter((seq) => seq > 0)
    wanted.set(row.uid, [...(wanted.get(row.uid) ?? []), ...seqs])
  }
  const found = new Map<string, EventWithBody>()
  for (const [uid, seqs] of wanted)
    for (let from = 0; from < seqs.length; from += AT_ONCE)
      for (const event of await fetchBodies(uid, seqs.slice(from, from + AT_ONCE)))
        found.set(keyOf(uid, event.seq), event)
  return found
}

/** Pictures come a moment after what is around them. */
async function drawn(): Promise<void> {
  for (let frame = 0; frame < 2; frame++) await new Promise((done) => requestAnimationFrame(done))
  const pictures = [...document.querySelectorAll<HTMLImageElement>('.printed img')]
  await Promise.allSettled(pictures.map((picture) => picture.decode()))
}

export function usePrinting(rows: readonly Row[]): Printing {
  const [state, setState] = useState<Omit<Printing, 'start'>>({
    isLoading: false,
    bodies: undefined,
    problem: undefined,
  })
  const start = (): void => {
    setState({ isLoading: true, bodies: undefined, problem: undefined })
    bodiesOf(rows).then(
      (bodies) => setState({ isLoading: false, bodies, problem: undefined }),
      (problem: { message: string }) =>
        setState({ isLoading: false, bodies: undefined, problem: problem.message }),
    )
  }
  useEffect(() => {
    if (!state.bodies) return
    // Folded parts too: paper cannot be clicked.
    for (const folded of document.querySelectorAll<HTMLDetailsElement>('.printed details')) folded.open = true
    const done = (): void => setState({ isLoading: false, bodies: undefined, problem: undefined })
    addEventListener('afterprint', done, { once: true })
    void drawn().then(print)
    return () => removeEventListener('afterprint', done)
  }, [state.bodies])
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.key !== 'p' || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return
      event.preventDefault()
      start()
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  })
  return { ...state, start }
}

export function PrintButton({ printing }: { printing: Printing }): JSX.Element {
  return (
    <>
      <button type="button" class="quiet" onClick={printing.start} disabled={printing.isLoading}>
        {printing.isLoading ? 'loading all of it…' : 'print'}
      </button>
      {printing.problem && <span role="alert">{printing.problem}</span>}
    </>
  )
}

export function Printed(props: {
  rows: readonly Row[]
  printing: Printing
  uid: string
  title: string
}): JSX.Element {
  const { rows, uid } = props
  const bodies = props.printing.bodies ?? new Map<string, EventWithBody>()
  const left = rows.length - MAX_ROWS
  const unread = new Set([...bodies.values()].filter(isUnread).map((event) => event.payload_ref))
  return (
    <div class="printed">
      {left > 0 && (
        <p class="print-note">
          The first {count(MAX_ROWS)} steps of {count(rows.length)}; {plural(left, 'step')} left out. All of
          it: <code>recollect export {uid} --format html</code>
        </p>
      )}
      <UnreadNote unread={unreadOf(unread.size)} />
      {rows.slice(0, MAX_ROWS).map((row) => {
        const event = bodies.get(keyOf(row.uid, row.seq))
        return (
          <div class={`slot depth-${row.depth} ${row.depth > 0 ? 'nested' : ''}`} key={row.key}>
            {row.agent ? (
              <p class="agent-head">
                Sub-agent{' '}
                <strong>{bodies.get(keyOf(row.uid, row.agent.firstSeq))?.summary ?? row.agent.name}</strong>
                {row.agent.isOpen ? '' : ' (folded: not printed)'}
              </p>
            ) : (
              event && (
                <Step
                  event={event}
                  answer={bodies.get(keyOf(row.uid, row.answer))}
                  href={(seq) => sessionPath(row.uid, { seq: String(seq) })}
                  load={() => {}}
                  isNested={row.depth > 0}
                />
              )
            )}
          </div>
        )
      })}
    </div>
  )
}
