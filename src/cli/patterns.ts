// `patterns`: what keeps failing over sessions, and whether an error was met before and overcome.
import type { Mend } from '../digest/mends.ts'
import { listPatterns, type Pattern } from '../digest/patterns.ts'
import { solvedBefore } from '../digest/solved.ts'
import { shortIds } from '../query/short-ids.ts'
import { type Answers, answerFrom, type ListedPattern, refuseServer } from './answers.ts'
import { paint } from './colour.ts'
import { printCsv } from './csv.ts'
import { formatDay, plural } from './format.ts'
import { print, printFolded, printJson } from './print.ts'
import { oneLine } from './text.ts'
import { parseLimit, readTime } from './values.ts'
import { withTier2 } from './with-memory.ts'

interface PatternOptions {
  since?: string
  limit?: string
  json?: boolean
  csv?: boolean
}

export async function showPatterns(error: readonly string[], options: PatternOptions): Promise<void> {
  const text = error.join(' ').trim()
  if (text === '') return showRecurring(options)
  refuseServer('patterns with an error', 'it tells what keeps failing, not whether one error was met')
  await showSolved(text, options)
}

async function showRecurring(options: PatternOptions): Promise<void> {
  const filter = {
    ...(options.since === undefined ? {} : { sinceAt: readTime(options.since, '--since') }),
    ...(options.limit === undefined ? {} : { limit: parseLimit(options.limit) }),
  }
  const ask = await answerFrom('patterns', inMemory)
  const { document, patterns, nothing } = await ask(filter)
  if (options.json) return printJson(document)
  if (options.csv) return printCsv(document.patterns)
  if (patterns.length === 0)
    return print(options.since === undefined ? nothing : `${nothing} since ${options.since}`)
  printFolded(patterns.map(patternText).join('\n\n'))
}

const inMemory: Answers['patterns'] = (filter) =>
  withTier2((handle) => {
    const patterns = listPatterns(handle, filter)
    const shorten = (uid: string): string => shortIds(handle, [uid]).get(uid) as string
    return {
      document: { patterns },
      patterns: patterns.map((one) => listed(one, shorten)),
      nothing:
        filter.sinceAt === undefined ? 'nothing has happened twice' : 'nothing that happened twice was seen',
    }
  })

function listed(pattern: Pattern, shorten: (uid: string) => string): ListedPattern {
  const { kind, count, first_seen, last_seen } = pattern
  const repos = pattern.repos.length === 1 ? pattern.repos[0] : `${pattern.repos.length} repositories`
  const [newest] = pattern.evidence
  const [best] = pattern.mends
  return {
    kind,
    about: pattern.sample || pattern.subject || 'the session as a whole',
    count,
    where: [plural(pattern.sessions, 'session'), repos ?? '', pattern.flavors.join(' ')],
    first_seen,
    last_seen,
    more: [
      ...(newest ? [`  recollect show ${shorten(newest.session_uid)}#${newest.seqs[0]}`] : []),
      ...(best ? mendLines(best, shorten) : []),
    ],
  }
}

function patternText({ kind, about, count, where, first_seen, last_seen, more }: ListedPattern): string {
  const [first, last] = [first_seen, last_seen].map((at) => (at ? formatDay(at) : '?'))
  const seen = first === last ? first : `${first} to ${last}`
  return [
    paint.bold(`${kind}  ${oneLine(about)}`),
    `  ${count}× in ${[...where, seen].filter(Boolean).join(', ')}`,
    ...more,
  ].join('\n')
}

/** A way to overcome an error: the newest session that did, with its steps, and how many there are. */
function mendLines({ times, sessions, steps }: Mend, shorten: (uid: string) => string): string[] {
  const [newest, ...others] = sessions
  if (!newest) return []
  const also = others.slice(0, MAX_ALSO).map((one) => `${shorten(one.session_uid)}#${one.resolved_seq}`)
  return [
    `  fixed in ${shorten(newest.session_uid)}#${newest.resolved_seq}${times === 1 ? '' : `, so in ${times} sessions`}, by:`,
    ...steps.map((step) => `    #${step.seq} ${oneLine(step.what)}`),
    ...(also.length > 0 ? [`    also ${also.join(', ')}`] : []),
  ]
}

const MAX_ALSO = 4

/** Whether an error was met before: ways to overcome it, then the sessions that did not. */
async function showSolved(text: string, options: PatternOptions): Promise<void> {
  await withTier2((handle) => {
    const answer = solvedBefore(handle, text)
    if (options.json) return printJson(answer)
    if (options.csv) return printCsv(answer.seen)
    const { sample, mends, seen } = answer
    if (seen.length === 0) return print(`not met before: ${oneLine(sample)}`)
    const shorten = (uid: string): string => shortIds(handle, [uid]).get(uid) as string
    const open = seen.filter((one) => one.resolved_by === null)
    const limit = options.limit === undefined ? SHOWN : parseLimit(options.limit)
    printFolded(
      [
        paint.bold(oneLine(sample)),
        `  met in ${plural(seen.length, 'session')}, overcome in ${seen.length - open.length}`,
        ...mends.flatMap((mend) => mendLines(mend, shorten)),
        ...open
          .slice(0, limit)
          .map((one) => `  not overcome in ${shorten(one.session_uid)}#${one.seqs[0] ?? 1}`),
      ].join('\n'),
    )
  })
}

const SHOWN = 8
