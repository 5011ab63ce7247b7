// Search over everything that was said and done, as one types.
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { SearchDocument, SearchHit } from '../../../query/search.ts'
import { useAnswer } from '../api.ts'
import { plural, titleOf } from '../format.ts'
import { useKeys } from '../keys.ts'
import { Answered, Empty, UnreadNote, When } from '../parts.tsx'
import { param, sessionPath, setParams } from '../router.ts'
import { MarkedLine } from '../text/plain.tsx'

type FoundSession = SearchDocument['sessions'][number] & { first_prompt: string }
type Results = Omit<SearchDocument, 'sessions'> & { sessions: FoundSession[] }

const WAIT_MS = 90

export function SearchView(): JSX.Element {
  const query = param('q') ?? ''
  const input = useRef<HTMLInputElement>(null)
  const asked = useSettled(query.trim())
  const kind = param('kind')
  const since = param('since')
  const narrow = `${kind ? `&kind=${kind}` : ''}${since ? `&since=${since}` : ''}`
  const path =
    asked === '' || !hasWord(asked)
      ? undefined
      : `search?q=${encodeURIComponent(finished(asked))}&limit=40&per_session=5${narrow}`
  const answer = useAnswer<Results>(path)
  useEffect(() => input.current?.focus(), [])
  useKeys({ '/': () => input.current?.focus() })
  return (
    <>
      <div class="view-head">
        <h1>Search</h1>
        <input
          ref={input}
          class="search-box"
          type="search"
          placeholder='words, "a phrase", prefix*, -not'
          aria-label="search everything that was said"
          value={query}
          onInput={(event) => setParams({ q: event.currentTarget.value || undefined }, { replace: true })}
        />
        <Narrow name="kind" label="what" choices={KINDS} />
        <Narrow name="since" label="when" choices={SPANS} />
      </div>
      {path === undefined && asked !== '' ? (
        <Empty title="Which word must be there?">
          <p>
            At least one word of letters or digits, without a minus: <kbd>error -docker</kbd>
          </p>
        </Empty>
      ) : path === undefined ? (
        <Empty title="Everything your agents and you said, every command and its output">
          <p>
            Type words, <kbd>"a phrase"</kbd>, <kbd>prefix*</kbd> or <kbd>-not</kbd>.
          </p>
        </Empty>
      ) : (
        <Answered answer={answer}>{(found) => <Hits found={found} query={asked} />}</Answered>
      )}
    </>
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
const SPANS: [string, string][] = [
  ['', 'ever'],
  ['7d', 'last 7 days'],
  ['30d', 'last 30 days'],
  ['365d', 'last year'],
]

function Narrow(props: { name: string; label: string; choices: [string, string][] }): JSX.Element {
  return (
    <select
      aria-label={props.label}
      value={param(props.name) ?? ''}
      onChange={(event) => setParams({ [props.name]: event.currentTarget.value || undefined })}
    >
      {props.choices.map(([value, name]) => (
        <option value={value}>{name}</option>
      ))}
    </select>
  )
}

/** Whether there is anything to look for: `-word` leaves out, `--flag` is looked for. */
const hasWord = (query: string): boolean =>
  (query.match(/-?"[^"]*"|\S+/g) ?? []).some((word) => !/^-[^-]/.test(word) && /[\p{L}\p{N}]/u.test(word))

/** The last word may be unfinished: it counts as a beginning. */
const finished = (query: string): string => (/[\p{L}\p{N}_]$/u.test(query) ? `${query}*` : query)

/** Asks once the typing pauses. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), WAIT_MS)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}

function Hits({ found, query }: { found: Results; query: string }): JSX.Element {
  const { sessions } = found
  if (sessions.length === 0)
    return (
      <Empty title="Nothing found" command="recollect sweep">
        <p>Fewer or shorter words find more. What was never swept cannot be found:</p>
      </Empty>
    )
  const total = sessions.reduce((sum, one) => sum + one.match_count, 0)
  return (
    <>
      <p class="muted" role="status">
        {plural(total, 'hit')} in {plural(sessions.length, 'session')}
      </p>
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
    </>
  )
}

function HitGroup(props: { session: FoundSession; hits: SearchHit[]; query: string }): JSX.Element {
  const { session, hits, query } = props
  const uid = session.session_uid
  const rest = session.match_count - hits.length
  return (
    <li class="hit-group">
      <h2>
        <a href={sessionPath(uid)}>{titleOf(session)}</a>
        <span>
          {session.flavor}
          {session.repo && ` · ${session.repo}`}
        </span>
        <When at={session.started_at} />
        {session.evicted && <span class="badge">raw evicted: found in its digest</span>}
      </h2>
      <ul>
        {hits.map((hit) => (
          <li>
            <a
              href={sessionPath(
                uid,
                hit.seq === null ? { tab: 'signals' } : { seq: String(hit.seq), find: query },
              )}
            >
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
