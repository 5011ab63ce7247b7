// When what was done in a session, as a picture without a script: a lane for the session and one for each of its first
// sub-agents, time from left to right. However long the session, it holds so many steps; each leads to its first event.
import { isCall, type SessionEvent } from '../model.ts'
import { type ExportSource, sidechainOf } from './source.ts'
import { escapeHtml } from './text.ts'

const STEPS = 240
const MAX_LANES = 12
const [WIDTH, LANE, LABEL] = [960, 18, 110]

interface Step {
  seq: number
  count: number
  kind: 'said' | 'call' | 'error'
}

type Lane = Map<number, Step>

const kindOf = (event: SessionEvent): Step['kind'] =>
  event.kind === 'error' ? 'error' : isCall(event) ? 'call' : 'said'
const WEIGHTS = { said: 0, call: 1, error: 2 }

/** Empty where nothing has a time. */
export function timelineSvg(source: ExportSource): string {
  const { session_uid: uid, started_at, ended_at } = source.session
  const from = Date.parse(started_at ?? '')
  const to = Date.parse(ended_at ?? '')
  if (Number.isNaN(from) || Number.isNaN(to)) return ''
  const lanes = new Map<string | null, Lane>([[null, new Map()]])
  const calls = new Map<string, number>()
  for (const { event, call } of source.events()) {
    if (call !== null && isCall(event)) calls.set(call, event.seq)
    if (event.ts === null || event.kind === 'lifecycle') continue
    const agent = sidechainOf(event)
    const lane = lanes.get(agent) ?? new Map<number, Step>()
    if (!lanes.has(agent) && lanes.size < MAX_LANES) lanes.set(agent, lane)
    const share = (Date.parse(event.ts) - from) / Math.max(1, to - from)
    add(lane, Math.min(STEPS - 1, Math.max(0, Math.floor(share * STEPS))), event, seqOf(event, call, calls))
  }
  const height = lanes.size * LANE
  const rows = [...lanes].map(([agent, lane], at) => laneSvg(uid, agent, lane, at * LANE))
  return `<figure class="timeline"><svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="timeline">${rows.join('')}</svg>
<figcaption>${escapeHtml(`${started_at?.slice(0, 19).replace('T', ' ')} to ${ended_at?.slice(0, 19).replace('T', ' ')} UTC`)}: what was said, calls, failures</figcaption></figure>\n`
}

/** What came back stands with its call. */
const seqOf = (event: SessionEvent, call: string | null, calls: ReadonlyMap<string, number>): number =>
  (event.role === 'tool' && call !== null ? calls.get(call) : undefined) ?? event.seq

function add(lane: Lane, step: number, event: SessionEvent, seq: number): void {
  const known = lane.get(step)
  const kind = kindOf(event)
  if (!known) lane.set(step, { seq, count: 1, kind })
  else {
    known.count++
    if (WEIGHTS[kind] > WEIGHTS[known.kind]) known.kind = kind
  }
}

function laneSvg(uid: string, agent: string | null, lane: Lane, top: number): string {
  const width = (WIDTH - LABEL) / STEPS
  const marks = [...lane].map(([step, { seq, count, kind }]) => {
    const left = (LABEL + step * width).toFixed(1)
    const about = `#${seq}${count > 1 ? ` and ${count - 1} more` : ''}`
    return `<a href="#${escapeHtml(uid)}-${seq}"><rect class="${kind}" x="${left}" y="${top + 3}" width="${width.toFixed(1)}" height="${LANE - 6}"><title>${about}</title></rect></a>`
  })
  const name = agent === null ? 'session' : agent || 'sub-agent'
  return `<text x="0" y="${top + LANE - 6}">${escapeHtml(name.slice(0, 16).toWellFormed())}</text>${marks.join('')}`
}
