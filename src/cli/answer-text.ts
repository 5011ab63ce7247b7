// What a search says of itself on a terminal: how it found what it found, and what to ask next.
import { shellWord } from '../files/shell.ts'
import type { Answer } from '../query/answer.ts'
import { answerWords } from '../query/answer-words.ts'
import type { NextQuery } from '../query/next-queries.ts'
import { formatBytes, plural } from './format.ts'
import { oneLine } from './text.ts'

export function headLines(found: Answer): string[] {
  const [first = '', ...rest] = answerWords(found).map(oneLine)
  const next = found.holds === 'nothing' ? found.next : found.next.filter((one) => isOffered(found, one))
  if (first === '' && next.length === 0) return []
  const isDeadEnd = found.holds === 'nothing' && next.length === 0
  return [
    ...(first === '' ? [] : [`${first}${bodiesText(found)}`]),
    ...rest,
    ...next.map((one) => `${WHY[one.why]}: ${command(one)}`),
    ...(isDeadEnd ? ['what there is: recollect sessions'] : []),
  ]
}

/** What was done already need not be offered. */
const isOffered = ({ instead }: Answer, { why }: NextQuery): boolean =>
  why === 'bodies' || (why === 'spelling' && instead.length === 0)

function bodiesText({ scanned, holds, found_by: by }: Answer): string {
  if (scanned === null || scanned.sessions === 0 || (by !== 'bodies' && holds !== 'nothing')) return ''
  const { bytes, sessions, damaged, is_all: isAll } = scanned
  const what = `${formatBytes(bytes)} of text in ${isAll ? '' : 'the newest '}${plural(sessions, 'session')}`
  const lost = damaged === 0 ? '' : `; ${plural(damaged, 'chunk')} cannot be read: recollect verify`
  return holds === 'nothing' ? `, not in ${what} either${lost}` : `, ${what}${lost}`
}

const WHY: Record<NextQuery['why'], string> = {
  spelling: 'did you mean',
  fewer: 'fewer words',
  beginning: 'a beginning',
  unfiltered: 'without the filters',
  bodies: 'in every body, as typed',
}

const command = ({ query, why }: NextQuery): string =>
  `recollect search ${why === 'bodies' ? '--literal ' : ''}${shellWord(oneLine(query))}`

/** `10 of 791 sessions, more with --limit 791`; undefined where all are shown. */
export function restLine(found: Answer, { limit }: { limit?: string }): string | undefined {
  const shown = found.sessions.length + found.sessions.reduce((sum, one) => sum + one.also_in.length, 0)
  const { session_count: count, is_count_exact: isExact } = found
  if (shown === 0 || (shown >= count && isExact)) return undefined
  if (shown >= count && Number(limit ?? 10) > found.sessions.length) return undefined
  const more = isExact ? count : Math.max(count, found.sessions.length * 5)
  return `${found.sessions.length} of ${isExact ? '' : 'at least '}${plural(count, 'session')}, more with --limit ${more}`
}
