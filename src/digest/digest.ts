// The digest: the compact, durable account of one session. The first fields are a public contract that other programs
// read (field names and types of the coding-session-memory design, §11.2); the rest is ours and additive. The same
// events under the same rules give the same bytes: no clock, no model, no randomness.
import { createHash } from 'node:crypto'
import {
  type Decision,
  type EventKind,
  type Outcome,
  SCHEMA_VERSION,
  type Session,
  type SessionCost,
  type TitleSource,
} from '../model.ts'
import { type HelperKind, helperOf, titleOf } from './asked.ts'
import { snippet } from './event.ts'
import type { Facts } from './facts.ts'
import { type Buckets, bucketShares, INFRA } from './metrics.ts'
import { type OutcomeVerdict, outcomeOf } from './outcome.ts'
import { placeIn, withPlaces } from './places.ts'
import { type Resolution, resolutionsOf } from './resolution.ts'
import { cite, cited, type Seqs } from './seqs.ts'
import { COST_OUTLIER, type Signal, signalsOf } from './signals.ts'
import type { Title } from './title.ts'

/** Raised with every change of a rule in this folder: digests made by older rules are then made again. */
export const RULES = 23

export interface ErrorSnippet {
  fingerprint: string
  sample: string
  count: number
  tool: string
  first_at: string
  last_at: string
  seqs: number[]
  /** The file that could not be found or changed: one failure (one fingerprint) of two files is told twice. Empty for most. */
  about: string
  /** What overcame it in this session; null when nothing did. */
  resolved_by: Resolution | null
}

export interface Digest {
  session_uid: string
  flavor: string
  repo: string
  domain: string
  model: string
  started_at: string
  ended_at: string
  outcome: Session['outcome']
  cost: SessionCost
  tool_histogram: Record<string, number>
  event_count: number
  kind_counts: Partial<Record<EventKind, number>>
  markers: Markers
  first_prompt: string
  last_assistant: string
  error_snippets: ErrorSnippet[]
  schema_version: number
  rule_version: string
  /** Never empty, and one line. */
  title: string
  title_source: TitleSource
  /** What kind of conversation beside the work it is; null for most. Such a one is left out of plain lists. */
  helper: HelperKind | null
  cwd: string
  git_branch: string
  task_ref: string
  /** `reason` is the rule in words; digests made by older rules have none. */
  outcome_detail: { rule: string; reason: string; confidence: number; seqs: number[] }
  metrics: Metrics
  files: { path: string; edits: number; touches: number; seqs: number[] }[]
  commands: { command: string; runs: number; failures: number; verdict: Verdict; seqs: number[] }[]
  tests: {
    command: string
    verdict: Verdict
    exit_code: number | null
    duration_ms: number | null
    seqs: number[]
  }[]
  commits: { sha: string; subject: string; seqs: number[] }[]
  pull_requests: { url: string; seqs: number[] }[]
  subagents: { agent: string; session_uid: string; events: number; seqs: number[] }[]
  compactions: number[]
  /** Written down from outside, oldest first. */
  decisions: Omit<Decision, 'session_uid'>[]
  signals: Signal[]
  coverage: Coverage
  /** What the tokens cost; null where no prices were at hand. */
  price: Price | null
  /** The seqs behind the statements that carry none of their own. */
  evidence: Record<string, number[]>
  /** Up to where the events were evicted, and by which rules that part was made; null while all of them were here. */
  frozen: { until_seq: number; rule_version: string } | null
  /** That it was made when copied events were not known as such, and corrected when they were; null for most. */
  recounted: { origin_uid: string; copied_events: number } | null
}

export type Verdict = 'passed' | 'failed' | 'unknown'

export interface Markers {
  errors: number
  retries: number
  interventions: number
  interrupts: number
  denials: number
  edits: number
  test_runs: number
  test_failures: number
  compactions: number
  decisions: number
}

export interface Metrics {
  infra_overhead_share: number
  bucket_shares: Record<string, number>
  wall_clock_s: number
  active_s: number
  turns: number
  retries: number
  tool_calls: number
}

export interface Coverage {
  source_bytes: number
  gap_bytes: number
  /** 1 when every byte of the sources was understood. */
  share: number
}

/** Dollars of the tokens in `cost`, as of the day the prices were taken. */
export interface Price {
  /** Exact, as a decimal; null when a model's price is not known. */
  usd: string | null
  price_date: string
  unpriced_models: string[]
}

export interface DigestInput {
  session: Session
  facts: Facts
  coverage: Coverage
  /** Sub-agents with a session of their own. */
  children: readonly { uid: string; seqs: number[] }[]
  buckets: Buckets
  price?: Price | null
  toldOutcome?: Outcome | null | undefined
  /** Where an event stands in the conversation; by default its number says it. */
  placeOf?: ((seq: number) => number) | undefined
}

export const MAX_FILES = 200
export const MAX_COMMANDS = 60
export const MAX_ERRORS = 60
const ANSWER_LENGTH = 400

/** Which rules a digest is made by: our own version, and what the configuration adds to it. */
export function ruleVersion(buckets: Buckets): string {
  return `${RULES}.${createHash('sha256').update(JSON.stringify(buckets)).digest('hex').slice(0, 6)}`
}

export function buildDigest(given: DigestInput): Digest {
  const facts = withPlaces(given.facts, placeIn(given.session.cwd, given.session.repo))
  const input = { ...given, facts }
  const { session, buckets } = input
  const verdict = outcomeOf(facts, { told: input.toldOutcome, placeOf: input.placeOf })
  return {
    ...contract(input, verdict),
    rule_version: ruleVersion(buckets),
    ...namesOf(input),
    cwd: session.cwd ?? '',
    git_branch: session.git_branch ?? '',
    task_ref: session.task_ref ?? '',
    outcome_detail: {
      rule: verdict.rule,
      reason: verdict.reason,
      confidence: verdict.confidence,
      seqs: cite(verdict.seqs),
    },
    metrics: metricsOf(input),
    files: filesOf(facts),
    commands: commandsOf(input),
    tests: facts.tests.runs.map((test) => ({
      command: test.command,
      verdict: test.verdict,
      exit_code: test.exitCode,
      duration_ms: test.durationMs,
      seqs: test.resultSeq === null ? [test.seq] : [test.seq, test.resultSeq],
    })),
    commits: facts.commits.map(({ sha, subject, seqs }) => ({ sha, subject, seqs })),
    pull_requests: facts.pullRequests.map(({ url, seqs }) => ({ url, seqs: cited(seqs) })),
    subagents: subagentsOf(input),
    compactions: cited(facts.compactions),
    decisions: [],
    signals: [
      ...signalsOf(facts),
      ...costSignals(
        input.price,
        [facts.firstPrompt, facts.lastAnswer].flatMap((said) => (said ? [said.seq] : [])),
      ),
    ],
    coverage: input.coverage,
    price: input.price ?? null,
    evidence: evidenceOf(facts),
    frozen: null,
    recounted: null,
  }
}

function namesOf({ session, facts }: DigestInput): Pick<Digest, 'title' | 'title_source' | 'helper'> {
  const { title, title_source } = session
  const isNamed = title !== null && (title_source === 'person' || title_source === 'agent')
  const name: Title = isNamed
    ? { text: title, source: title_source }
    : titleOf(facts.asked, facts.commits, session.git_branch)
  return { title: name.text, title_source: name.source, helper: helperOf(facts, session.cost.turns) }
}

/** At list prices; docs/digest.md. */
const COST_OUTLIER_USD = 25

/** Cites where it began and where it led: what costs is the whole of it. */
export function costSignals(price: Price | null | undefined, seqs: number[]): Signal[] {
  const usd = Math.floor(Number(price?.usd ?? 0))
  return usd < COST_OUTLIER_USD ? [] : [{ signal: COST_OUTLIER, subject: '', count: usd, seqs }]
}

type Contract = Pick<
  Digest,
  | 'session_uid'
  | 'flavor'
  | 'repo'
  | 'domain'
  | 'model'
  | 'started_at'
  | 'ended_at'
  | 'outcome'
  | 'cost'
  | 'tool_histogram'
  | 'event_count'
  | 'kind_counts'
  | 'markers'
  | 'first_prompt'
  | 'last_assistant'
  | 'error_snippets'
  | 'schema_version'
>

/** The fields of §11.2. What is not known is an empty string: the type stays what was promised. */
function contract(input: DigestInput, verdict: OutcomeVerdict): Contract {
  const { session, facts } = input
  const resolutions = resolutionsOf(facts)
  return {
    session_uid: session.session_uid,
    flavor: session.flavor,
    repo: session.repo ?? '',
    domain: session.domain ?? '',
    model: session.model ?? '',
    started_at: session.started_at ?? '',
    ended_at: session.ended_at ?? '',
    outcome: verdict.outcome,
    cost: session.cost,
    tool_histogram: sorted(Object.fromEntries(facts.toolHistogram)),
    event_count: facts.eventCount,
    kind_counts: sorted(facts.kindCounts as Record<string, number>),
    markers: markersOf(facts),
    first_prompt: facts.firstPrompt?.text ?? '',
    last_assistant: snippet(facts.lastAnswer?.text ?? '', ANSWER_LENGTH),
    error_snippets: [...facts.failures]
      .sort(([, a], [, b]) => oftenFirst(input)(a, b))
      .slice(0, MAX_ERRORS)
      .map(([key, failure]) => ({
        fingerprint: failure.fingerprint,
        sample: failure.sample,
        count: failure.seqs.count,
        tool: failure.tool ?? '',
        first_at: iso(failure.firstAt),
        last_at: iso(failure.lastAt),
        seqs: cited(failure.seqs),
        about: failure.about,
        resolved_by: resolutions.get(key) ?? null,
      })),
    schema_version: SCHEMA_VERSION,
  }
}

/** What there is most of, then what came first. */
const oftenFirst =
  ({ placeOf = (seq) => seq }: DigestInput) =>
  (a: { seqs: Seqs }, b: { seqs: Seqs }): number =>
    b.seqs.count - a.seqs.count || placeOf(a.seqs.first[0] as number) - placeOf(b.seqs.first[0] as number)

const iso = (at: number | null): string => (at === null ? '' : new Date(at).toISOString())

function sorted(counts: Record<string, number>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(counts).sort(([a, left], [b, right]) => right - left || (a < b ? -1 : 1)),
  )
}

function markersOf(facts: Facts): Markers {
  return {
    errors: facts.kindCounts.error ?? 0,
    retries: facts.kindCounts.retry ?? 0,
    interventions: facts.interventions.count,
    interrupts: facts.interrupts.count,
    denials: facts.denials.count,
    edits: facts.work.editCount,
    test_runs: facts.tests.count,
    test_failures: facts.tests.failureCount,
    compactions: facts.compactions.count,
    decisions: facts.kindCounts.decision ?? 0,
  }
}

function metricsOf({ session, facts, buckets }: DigestInput): Metrics {
  const shares = bucketShares(Object.fromEntries(facts.toolHistogram), buckets)
  return {
    infra_overhead_share: shares[INFRA] ?? 0,
    bucket_shares: shares,
    wall_clock_s: session.cost.wall_clock_s,
    // A fork keeps notes from before its own first word: they are no time of its own.
    active_s: Math.min(session.cost.wall_clock_s, Math.round(facts.activeMs) / 1000),
    turns: session.cost.turns,
    retries: session.cost.retries,
    tool_calls: [...facts.toolHistogram.values()].reduce((sum, count) => sum + count, 0),
  }
}

function filesOf({ work }: Facts): Digest['files'] {
  return [...work.files.values()]
    .sort((a, b) => b.edits.count - a.edits.count || b.touches - a.touches || (a.path < b.path ? -1 : 1))
    .slice(0, MAX_FILES)
    .map(({ path, edits, touches, seqs }) => {
      // Where it was changed: that it was read before says less.
      return { path, edits: edits.count, touches, seqs: cited(edits.count > 0 ? edits : seqs) }
    })
}

function commandsOf(input: DigestInput): Digest['commands'] {
  return [...input.facts.work.commands.values()]
    .sort(oftenFirst(input))
    .slice(0, MAX_COMMANDS)
    .map(({ command, failures, verdict, seqs }) => ({
      command,
      runs: seqs.count,
      failures,
      verdict,
      seqs: cited(seqs),
    }))
}

function subagentsOf({ facts, children }: DigestInput): Digest['subagents'] {
  return [
    ...[...facts.agents.values()].map(({ agent, eventCount, seqs }) => ({
      agent,
      session_uid: '',
      events: eventCount,
      seqs,
    })),
    ...children.map(({ uid, seqs }) => ({ agent: '', session_uid: uid, events: 0, seqs })),
  ]
}

function evidenceOf(facts: Facts): Record<string, number[]> {
  return {
    first_prompt: facts.firstPrompt ? [facts.firstPrompt.seq] : [],
    last_assistant: facts.lastAnswer ? [facts.lastAnswer.seq] : [],
    interventions: cited(facts.interventions),
    interrupts: cited(facts.interrupts),
    denials: cited(facts.denials),
    request_retries: cited(facts.requestRetries),
  }
}
