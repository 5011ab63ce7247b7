// The tools that find: events by words, errors by what they look like.
import { z } from 'zod'
import type { Mend } from '../digest/mends.ts'
import { listPatterns, type Pattern } from '../digest/patterns.ts'
import { type Solved, solvedBefore } from '../digest/solved.ts'
import { answer } from '../query/answer.ts'
import { answerWords } from '../query/answer-words.ts'
import { resolveSession } from '../query/ids.ts'
import { reposAt } from '../query/meant.ts'
import type { SearchHit } from '../query/search.ts'
import { refuseEmpty } from '../query/signs.ts'
import type { FilterNames } from '../store/reader/filters.ts'
import { ownSessions } from './caller.ts'
import { type Answer, type Entry, type Line, line } from './result.ts'
import { type Context, counted, cursor, id, readTime, refuseUnknownRepo, time, tool } from './tool.ts'

/** Sessions looked at in one call; nobody pages further than this. */
const MOST = 200
const PAGE = 20
/** An agent waits for its answer: what is not found by then in bodies is not found. */
const READING_MS = 5_000
/** Of one session so many hits, unless only that session is searched. */
const PER_SESSION = 5

export const searchTool = tool({
  name: 'search',
  description: 'Find past events by words, "phrases", prefix*, -not. Hits have ids for context.',
  input: z.strictObject({
    query: z.string().min(1).max(400),
    repo: z.string().max(200).optional().describe('default: this one; * for all'),
    touched: z.string().max(1000).optional(),
    session: id.optional(),
    since: time.describe('date or age (7d)'),
    cursor,
  }),
  run: async (context, input) => {
    const { handle } = context
    refuseEmpty(input.query, 'words', 'query')
    const session = input.session === undefined ? undefined : resolveSession(handle, input.session)
    const isHere = input.repo === undefined || input.repo === '.'
    const repo =
      input.repo === '*' || session !== undefined ? undefined : isHere ? knownRepo(context) : input.repo
    const found = await answer(handle, input.query, {
      signal: AbortSignal.timeout(READING_MS),
      limit: MOST,
      perSession: session === undefined ? PER_SESSION : MOST,
      ...(repo === undefined ? {} : { repo }),
      ...(input.touched === undefined ? {} : { touched: input.touched }),
      ...(session === undefined ? {} : { session }),
      ...(input.since === undefined ? {} : { sinceAt: readTime(input.since) }),
    })
    const own = session === undefined ? ownSessions(handle, context.caller) : new Set<string>()
    const others = found.sessions.filter((one) => !own.has(one.session.session_uid))
    const hits = others.flatMap((one) => one.hits.map((hit) => ({ hit, session: one.session })))
    const from = input.cursor ?? 0
    if (hits.length === 0) refuseUnknownRepo(handle, repo)
    const where = repo === undefined ? '' : ' in this repository (repo "*" looks in all)'
    const narrowed = (['touched', 'session', 'since'] as const).filter((name) => input[name] !== undefined)
    const wider = narrowed.length === 0 ? '' : `, or leave out ${narrowed.join(' and ')}`
    const next = found.next.map((one) => `"${one.query.replace(/\s+/g, ' ')}"`).slice(0, 2)
    const hint = next.length === 0 ? `Try fewer or other words${wider}.` : `Try ${next.join(' or ')}${wider}.`
    const told = answerWords(found)
      .map((words) => `; ${words}`)
      .join('')
    return {
      about:
        hits.length === 0
          ? `Nothing found${where}. ${hint}`
          : `${counted(hits.length, 'hit')} in ${counted(others.length, 'session')}${where}, best first${told}.`,
      data: {
        hits: hits.length,
        sessions: others.length,
        ...(repo === undefined ? {} : { repo }),
        ...(hits.length === 0 ? {} : { holds: found.holds, found_by: found.found_by }),
      },
      entries: hits
        .slice(from, from + PAGE)
        .map(({ hit, session }, at) => hitEntry(hit, session.repo, from + at)),
      more: from + PAGE < hits.length ? from + PAGE : undefined,
    }
  },
})

/** The repository the caller works in, where something of it is remembered. */
function knownRepo({ handle, caller }: Context): FilterNames | undefined {
  if (caller.cwd === undefined) return undefined
  const names = reposAt(handle, caller.cwd).filter((name) => handle.sessions.hasValue('repo', name))
  return names.length <= 1 ? names[0] : names
}

function hitEntry(hit: SearchHit, repo: string | null, at: number): Entry {
  // Of an evicted event the number may not be known any more; its session still has a digest.
  const id = hit.seq === null ? hit.session_uid : `${hit.session_uid}#${hit.seq}`
  const when = hit.ts?.slice(0, 16) ?? null
  const gone = hit.is_evicted ? ' (evicted: see digest)' : ''
  return {
    at,
    text: line`${id}  ${when ?? '?'}  ${repo ?? '-'}  ${hit.label ?? hit.kind}${gone}  ${hit.line}`,
    data: {
      id,
      at: when,
      repo,
      kind: hit.label ?? hit.kind,
      ...(hit.tool === null ? {} : { tool: hit.tool }),
      ...(hit.is_evicted ? { evicted: true } : {}),
      text: hit.line,
    },
    isUnread: hit.is_unread,
  }
}

export const patternsTool = tool({
  name: 'patterns',
  description: 'Was this error met before, and what solved it. Without: recurring errors.',
  input: z.strictObject({ error: z.string().max(20_000).optional(), cursor }),
  run: (context, input) => {
    const from = input.cursor ?? 0
    if (input.error !== undefined && input.error.trim() !== '') return solved(context, input.error, from)
    const notShown = ownSessions(context.handle, context.caller)
    const patterns = listPatterns(context.handle, { limit: from + PAGE + 1, notShown }).slice(from)
    return {
      about:
        patterns.length === 0
          ? 'No error or signal has recurred over sessions.'
          : 'What recurs over sessions, most frequent first.',
      entries: patterns.slice(0, PAGE).map((pattern, at) => patternEntry(pattern, from + at)),
      more: patterns.length > PAGE ? from + PAGE : undefined,
    }
  },
})

function solved({ handle, caller }: Context, error: string, from: number): Answer {
  const own = ownSessions(handle, caller)
  const { seen: others, mends } = solvedBefore(handle, error, own)
  const cured = others.filter((one) => one.resolved_by !== null).length
  return {
    about:
      others.length === 0
        ? 'This error was not met before. Try search with its words.'
        : `Met in ${counted(others.length, 'session')}, overcome in ${cured}.`,
    data: { sessions: others.length, solved: cured },
    entries: others.slice(from, from + PAGE).map((one, at) => solvedEntry(one, mends, from + at)),
    more: from + PAGE < others.length ? from + PAGE : undefined,
  }
}

const stepLines = (steps: readonly { seq: number; what: string }[]): Line[] =>
  steps.map((step) => line`  #${step.seq} ${step.what}`)

function solvedEntry(one: Solved, mends: readonly Mend[], at: number): Entry {
  const cure = one.resolved_by
  const isSame = ({ sessions }: Mend): boolean =>
    sessions.some((other) => other.session_uid === one.session_uid)
  const times = mends.find(isSame)?.times ?? 0
  const head = line`${one.session_uid}#${one.seqs[0] ?? 0}  ${one.last_at?.slice(0, 10) ?? '?'}  ${one.repo ?? '-'}  ${one.count}×  ${one.sample}`
  const more = cure
    ? [
        line`solved at #${cure.resolved_seq}${times > 1 ? ` (so in ${times} sessions)` : ''} by:`,
        ...stepLines(cure.steps),
      ]
    : [line`not solved there`]
  return {
    at,
    text: head,
    more,
    data: {
      id: `${one.session_uid}#${one.seqs[0] ?? 0}`,
      at: one.last_at,
      repo: one.repo,
      error: one.sample,
      count: one.count,
      solved: cure && { at: `${one.session_uid}#${cure.resolved_seq}`, steps: cure.steps, sessions: times },
    },
  }
}

function patternEntry(pattern: Pattern, at: number): Entry {
  const [best] = pattern.mends
  const cured = best?.sessions[0]
  const about = pattern.sample || pattern.subject || 'the session as a whole'
  const [newest] = pattern.evidence
  const seen = newest ? `${newest.session_uid}#${newest.seqs[0] ?? 0}` : null
  const solved =
    best && cured
      ? [
          line`solved in ${counted(best.times, 'session')}, newest ${cured.session_uid}#${cured.resolved_seq}, by:`,
          ...stepLines(best.steps),
        ]
      : []
  return {
    at,
    text: line`${pattern.kind}  ${pattern.count}× in ${counted(pattern.sessions, 'session')}  ${about}`,
    more: [line`see ${seen ?? '-'}`, ...solved],
    data: {
      kind: pattern.kind,
      about,
      count: pattern.count,
      sessions: pattern.sessions,
      repos: pattern.repos.slice(0, 5),
      last_seen: pattern.last_seen,
      see: seen,
      solved:
        best && cured
          ? { at: `${cured.session_uid}#${cured.resolved_seq}`, steps: best.steps, sessions: best.times }
          : null,
    },
  }
}
