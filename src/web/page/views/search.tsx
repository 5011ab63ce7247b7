// Search over everything that was said and done, as one types: where it is held, by facet, in any order, page by page.
import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { answerWords } from '../../../query/answer-words.ts'
import type { SearchHit } from '../../../query/hits.ts'
import { FACETS } from '../../../query/narrow.ts'
import type { NextQuery } from '../../../query/next-queries.ts'
import type { SearchPage } from '../../../query/search-page.ts'
import { useAnswer } from '../api.ts'
import { bytes, count, plural, titleOf } from '../format.ts'
import { isTeam } from '../here.ts'
import { useKeys } from '../keys.ts'
import { Answered, Empty, OutcomeBadge, UnreadNote, When } from '../parts.tsx'
import { param, paramValues, sessionPath, setParams, to } from '../router.ts'
import { MarkedLine } from '../text/plain.tsx'
import { FacetSide, telling } from './facets.tsx'
import { Chosen, SPANS } from './sessions.tsx'

type FoundSession = SearchPage['sessions'][number] & { first_prompt: string }
type Results = Omit<SearchPage, 'sessions'> & { sessions: FoundSession[] }

const WAIT_MS = 90
const PAGE = 40
const MOST = 500

/** What of the address asks the server; undefined where there is nothing to look for yet. */
function questionHere(asked: string): string | undefined {
  if (asked === '' || (param('how') !== 'literal' && !hasWord(asked))) return undefined
  const query = new URLSearchParams({ q: asked, limit: param('limit') ?? String(PAGE), per_session: '5' })
  for (const name of ['kind', 'since', 'until', 'tool', 'sort', 'how', ...FACETS])
    for (const value of paramValues(name)) query.append(name, value)
  // Reading every body takes a while: only who asks for it waits for it, not whoever types.
  if (param('deep') !== undefined || param('how') === 'literal') query.set('scan', '1')
  return `search/page?${query}`
}

export function SearchView(): JSX.Element {
  const query = param('q') ?? ''
  const asked = useSettled(query.trim())
  const path = questionHere(asked)
  // What is typed and not asked for yet has no answer: nothing is shown under it.
  const isSettled = asked === query.trim()
  const answer = useAnswer<Results>(isSettled ? path : undefined)
  return (
    <>
      <SearchHead query={query} />
      {asked !== '' && path === undefined ? (
        <Empty title="Which word must be there?">
          <p>
            At least one word of letters or digits, without a minus: <kbd>error -docker</kbd>
          </p>
        </Empty>
      ) : query.trim() === '' && isTeam ? (
        <Empty title="What machines told of their sessions">
          <p>Type words: sessions whose digest holds all of them are found.</p>
        </Empty>
      ) : query.trim() === '' ? (
        <Empty title="Everything your agents and you said, every command and its output">
          <p>
            Type words or a question, <kbd>"a phrase"</kbd>, <kbd>prefix*</kbd> or <kbd>-not</kbd>.{' '}
            <kbd>enter</kbd> also reads the bodies that the index holds only the ends of.
          </p>
        </Empty>
      ) : (
        <Answered answer={answer}>{(found) => <Found found={found} query={asked} />}</Answered>
      )}
    </>
  )
}

function SearchHead({ query }: { query: string }): JSX.Element {
  const input = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => input.current?.focus(), [])
  useKeys({ '/': () => input.current?.focus() })
  const isNarrowed = [...FACETS, 'kind', 'since', 'until', 'tool'].some((name) => param(name) !== undefined)
  return (
    <div class="view-head is-over-side">
      <h1>Search</h1>
      <input
        ref={input}
        class="search-box"
        type="search"
        placeholder={isTeam ? 'words of a digest' : 'words, a question, "a phrase", prefix*, -not'}
        aria-label={isTeam ? 'search digests' : 'search everything that was said'}
        value={query}
        onInput={(event) =>
          setParams(
            { q: event.currentTarget.value || undefined, deep: undefined, limit: undefined },
            { replace: true },
          )
        }
        onKeyDown={(event) => event.key === 'Enter' && !isTeam && setParams({ deep: '1' }, { replace: true })}
      />
      <div class="head-choices">
        {!isTeam && <Chosen name="kind" label="what" choices={KINDS} />}
        <Chosen name="since" label="when" choices={SPANS} />
        {!isTeam && <Chosen name="how" label="how" choices={WAYS} />}
        <Chosen name="sort" label="order" choices={SORTS.filter(([value]) => !isTeam || value !== 'cost')} />
        {isNarrowed && (
          <a class="button quiet" href={to('/search', { q: query || undefined })}>
            clear all
          </a>
        )}
      </div>
    </div>
  )
}

const KINDS: [string, string][] = [
  ['', 'everything'],
  ['user_msg', 'what you said'],
  ['assistant_msg', 'what agents said'],
  ['tool_call,test_run,edit,retry', 'calls'],
  ['tool_result', 'output'],
  ['error', 'errors'],
]
/** Kinds as people call them. */
const NAMES: Record<string, string> = {
  user_msg: 'prompt',
  assistant_msg: 'answer',
  tool_result: 'output',
  human_intervention: 'you stepped in',
}
const WAYS: [string, string][] = [
  ['', 'words'],
  ['literal', 'exactly as typed'],
]
const SORTS: [string, string][] = [
  ['', 'best first'],
  ['recent', 'newest first'],
  ['cost', 'most expensive first'],
  ['errors', 'most errors first'],
]

/** Whether there is anything to look for: `-word` leaves out, `--flag` is looked for. */
const hasWord = (query: string): boolean =>
  (query.match(/-?"[^"]*"|\S+/g) ?? []).some((word) => !/^-[^-]/.test(word) && /[\p{L}\p{N}]/u.test(word))

/** Asks once the typing pauses. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), WAIT_MS)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}

function Found({ found, query }: { found: Results; query: string }): JSX.Element {
  const hasFacets = telling(found.facets).length > 0
  return (
    <div class="with-side">
      <FacetSide facets={found.facets} label="narrow what was found" isHidden={!hasFacets} />
      <div class="main-column">
        {found.sessions.length === 0 ? (
          <NothingFound found={found} query={query} />
        ) : (
          <Hits found={found} query={query} />
        )}
      </div>
    </div>
  )
}

function NothingFound({ found, query }: { found: Results; query: string }): JSX.Element {
  if (isTeam) return <Empty title={`No digest that you may read holds all words of ${query}`} />
  return (
    <Empty title={`Nothing found for ${query}`} command="recollect sweep">
      <Next next={found.next} />
      {found.scanned === null ? (
        <p>
          Of long outputs only the ends are in the index.{' '}
          <button type="button" onClick={() => setParams({ deep: '1' })}>
            Read every body
          </button>
        </p>
      ) : (
        <p>{scannedText(found)}, and it is not there.</p>
      )}
      <p>What was never swept cannot be found:</p>
    </Empty>
  )
}

function scannedText({ scanned }: Results): string {
  if (scanned === null) return ''
  const what = `${bytes(scanned.bytes)} of text in ${scanned.is_all ? '' : 'the newest '}${plural(scanned.sessions, 'session')} was read`
  return scanned.damaged === 0
    ? what
    : `${what}; ${plural(scanned.damaged, 'chunk')} cannot be read: recollect verify`
}

function Hits({ found, query }: { found: Results; query: string }): JSX.Element {
  const { sessions, total, is_count_exact: isExact } = found
  const isBeginning = found.query !== query && found.query === `${query}*`
  const rest = total - sessions.length
  return (
    <>
      <p role="status">
        {!isTeam && (
          <>
            <strong>{count(found.match_total)}</strong> {found.match_total === 1 ? 'hit' : 'hits'} in{' '}
          </>
        )}
        {!isExact && 'at least '}
        <strong>{count(total)}</strong> {total === 1 ? 'session' : 'sessions'}
        {rest > 0 && <span class="muted">, the first {count(sessions.length)} below</span>}
      </p>
      <ul class="answer-way">
        {isBeginning && <li>no event holds all of it as typed: these hold words that begin so</li>}
        {answerWords(found).map((words) => (
          <li>{words}</li>
        ))}
        {found.found_by === 'bodies' && <li>{scannedText(found)}</li>}
      </ul>
      {found.instead.length === 0 && <Next next={found.next.filter((one) => one.why === 'spelling')} />}
      <UnreadNote unread={found.unread} />
      <ol class="hits">
        {sessions.map((session) => (
          <HitGroup
            session={session}
            hits={found.hits.filter((hit) => hit.session_uid === session.session_uid)}
            query={query}
          />
        ))}
      </ol>
      {rest > 0 && sessions.length < MOST && (
        <button
          type="button"
          onClick={() => setParams({ limit: String(Math.min(MOST, sessions.length * 2)) }, { replace: true })}
        >
          Show {count(Math.min(rest, sessions.length))} more of {count(total)}
        </button>
      )}
      {sessions.length >= MOST && rest > 0 && (
        <p class="muted">These are the first {MOST}: narrow the search to see the others.</p>
      )}
    </>
  )
}

const WHY: Record<NextQuery['why'], string> = {
  spelling: 'did you mean',
  fewer: 'with fewer words',
  beginning: 'as a beginning',
  unfiltered: 'without the filters',
  bodies: 'in every body, as typed',
}

/** Questions that have an answer. */
function Next({ next }: { next: readonly NextQuery[] }): JSX.Element | null {
  if (next.length === 0) return null
  return (
    <ul class="answer-way">
      {next.map((one) => (
        <li>
          {WHY[one.why]}:{' '}
          <a href={to('/search', { q: one.query, how: one.why === 'bodies' ? 'literal' : undefined })}>
            {one.query}
          </a>
        </li>
      ))}
    </ul>
  )
}

function HitGroup(props: { session: FoundSession; hits: SearchHit[]; query: string }): JSX.Element {
  const { session, hits, query } = props
  const uid = session.session_uid
  const rest = session.match_count - hits.length
  return (
    <li class="hit-group">
      <h2>
        <a class="clip" href={sessionPath(uid)}>
          {titleOf(session)}
        </a>
        <OutcomeBadge outcome={session.outcome} endedAt={session.ended_at} />
        <span>
          {session.flavor}
          {session.repo && ` · ${session.repo}`}
        </span>
        <When at={session.started_at} />
        {session.missing.length > 0 && <span class="badge">without {session.missing.join(', ')}</span>}
        {session.also_in.length > 0 && (
          <span class="badge">also in {plural(session.also_in.length, 'other session')} of this task</span>
        )}
        {session.evicted && <span class="badge">raw evicted: found in its digest</span>}
      </h2>
      <ul>
        {hits.map((hit) => (
          <li>
            <a href={sessionPath(uid, hit.seq === null ? {} : { seq: String(hit.seq), find: query })}>
              <span class="hit-kind">{hit.tool ?? NAMES[hit.kind] ?? hit.kind.replace('_', ' ')}</span>
              <span class="hit-text">
                <MarkedLine text={hit.line} marks={hit.marks} />
              </span>
            </a>
          </li>
        ))}
        {rest > 0 && (
          <li>
            <a href={sessionPath(uid, { find: query })}>
              <span class="hit-kind">{plural(rest, 'more hit')}</span>
              <span class="hit-text muted">find them in the session</span>
            </a>
          </li>
        )}
      </ul>
    </li>
  )
}
