// The tools that find: events by words, errors by what they look like.
import { z } from 'zod'
import { listPatterns, type Pattern } from '../digest/patterns.ts'
import { type Solved, solvedBefore } from '../digest/solved.ts'
import { RecollectError } from '../errors.ts'
import { resolveSession } from '../query/ids.ts'
import { type SearchHit, searchSessions } from '../query/search.ts'
import { placeResolver } from '../sources/place.ts'
import { parseQuery } from '../store/words.ts'
import { ownSessions } from './caller.ts'
import { type Answer, type Entry, type Line, line } from './result.ts'
import { type Context, counted, cursor, id, readTime, refuseUnknownRepo, time, tool } from './tool.ts'

/** Sessions looked at in one call; nobody pages further than this. */
const MOST = 200
const PAGE = 20
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
  run: (context, input) => {
    const { handle } = context
    if (parseQuery(input.query) === undefined)
      throw new RecollectError('USAGE', 'the query has no word that must be there', {
        where: 'query',
        hint: 'at least one word of letters or digits, without a minus',
      })
    const session = input.session === undefined ? undefined : resolveSession(handle, input.session)
    const repo = input.repo === '*' || session !== undefined ? undefined : (input.repo ?? knownRepo(context))
    const found = searchSessions(handle, input.query, {
      limit: MOST,
      perSession: session === undefined ? PER_SESSION : MOST,
      ...(repo === undefined ? {} : { repo }),
      ...(input.touched === undefined ? {} : { touched: input.touched }),
      ...(session === undefined ? {} : { session }),
      ...(input.since === undefined ? {} : { sinceAt: readTime(input.since) }),
    })
    const own = session === undefined ? ownSessions(handle, context.caller) : new Set<string>()
    const others = found.filter((one) => !own.has(one.session.session_uid))
    const hits = others.flatMap((one) => one.hits.map((hit) => ({ hit, session: one.session })))
    const from = input.cursor ?? 0
    if (hits.length === 0) refuseUnknownRepo(handle, repo)
    const where = repo === undefined ? '' : ' in this repository (repo "*" looks in all)'
    const narrowed = (['touched', 'session', 'since'] as const).filter((name) => input[name] !== undefined)
    const wider = narrowed.length === 0 ? '' : `, or leave out ${narrowed.join(' and ')}`
    return {
      about:
        hits.length === 0
          ? `Nothing found${where}. Try fewer or other words${wider}.`
          : `${counted(hits.length, 'hit')} in ${counted(others.length, 'session')}${where}, best first.`,
      data: { hits: hits.length, sessions: others.length, ...(repo === undefined ? {} : { repo }) },
      entries: hits
        .slice(from, from + PAGE)
        .map(({ hit, session }, at) => hitEntry(hit, session.repo, from + at)),
      more: from + PAGE < hits.length ? from + PAGE : undefined,
    }
  },
})

/** The repository the caller works in, where something of it is remembered. */
function knownRepo({ handle, caller, config }: Context): string | undefined {
  if (caller.cwd === undefined) return undefined
  const domains = config.get('domains')
  const { repo } = placeResolver(domains)({ sessionUid: '', cwd: caller.cwd, gitRemote: null })
  if (repo === null) return undefined
  const known = handle.memory.prepare('SELECT 1 FROM sessions WHERE repo = ? LIMIT 1').get(repo)
  return known ? repo : undefined
}

function hitEntry(hit: SearchHit, repo: string | null, at: number): Entry {
  // Of an evicted event the number may not be known any more; its session still has a digest.
  const id = hit.seq === null ? hit.session_uid : `${hit.session_uid}#${hit.seq}`
  const when = hit.ts?.slice(0, 16) ?? null
  const gone = hit.is_evicted ? ' (evicted: see digest)' : ''
  return {
    at,
    text: line`${id}  ${when ?? '?'}  ${repo ?? '-'}  ${hit.kind}${gone}  ${hit.line}`,
    data: {
      id,
      at: when,
      repo,
      kind: hit.kind,
      ...(hit.tool === null ? {} : { tool: hit.tool }),
      ...(hit.is_evicted ? { evicted: true } : {}),
      text: hit.line,
    },
    isUnread: hit.is_unread,
  }
}

export const patternsTool = tool({
  name: 'patterns',
  description:
    'Given an error text: was it met before, and what solved it. Without: errors that keep recurring.',
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
  const { seen } = solvedBefore(handle, error)
  const others = seen.filter((one) => !own.has(one.session_uid))
  const cured = others.filter((one) => one.resolved_by !== null).length
  return {
    about:
      others.length === 0
        ? 'This error was not met before. Try search with its words.'
        : `Met in ${counted(others.length, 'session')}, overcome in ${cured}.`,
    data: { sessions: others.length, solved: cured },
    entries: others.slice(from, from + PAGE).map((one, at) => solvedEntry(one, from + at)),
    more: from + PAGE < others.length ? from + PAGE : undefined,
  }
}

const stepLines = (steps: readonly { seq: number; what: string }[]): Line[] =>
  steps.map((step) => line`  #${step.seq} ${step.what}`)

function solvedEntry(one: Solved, at: number): Entry {
  const cure = one.resolved_by
  const head = line`${one.session_uid}#${one.seqs[0] ?? 0}  ${one.last_at?.slice(0, 10) ?? '?'}  ${one.repo ?? '-'}  ${one.count}×  ${one.sample}`
  const more = cure
    ? [line`solved at #${cure.resolved_seq} after:`, ...stepLines(cure.steps)]
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
      solved: cure && { at: `${one.session_uid}#${cure.resolved_seq}`, steps: cure.steps },
    },
  }
}

function patternEntry(pattern: Pattern, at: number): Entry {
  const cure = pattern.last_resolution
  const about = pattern.sample || pattern.subject || 'the session as a whole'
  const [newest] = pattern.evidence
  const seen = newest ? `${newest.session_uid}#${newest.seqs[0] ?? 0}` : null
  const solved = cure
    ? [line`last solved in ${cure.session_uid}#${cure.resolved_seq} after:`, ...stepLines(cure.steps)]
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
      solved: cure && { at: `${cure.session_uid}#${cure.resolved_seq}`, steps: cure.steps },
    },
  }
}
