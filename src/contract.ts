// What a machine and a team server say to each other: every request and answer as one schema each. docs/fleet-api.md and
// docs/fleet-openapi.json are checked against it. Additive within a version; times are epoch milliseconds.
import { z } from 'zod'
import { EDGE_KINDS, OUTCOMES } from './model.ts'

export const CONTRACT_VERSION = 1

/** How much of a session leaves a machine, from least to most: figures, its digest, its redacted events. */
export const LEVELS = ['ledger', 'digest', 'full'] as const
export type Level = (typeof LEVELS)[number]

/** Who asks: a machine that pushes, or a person. */
export const ROLES = ['device', 'viewer', 'lead', 'auditor', 'admin'] as const
export type Role = (typeof ROLES)[number]

/** Figures of fewer people are not shown. */
export const FEWEST_PEOPLE = 5

/** Bytes of a body that is taken: of a session, and of a segment. */
export const MAX_SESSION_BYTES = 16 << 20
export const MAX_SEGMENT_BYTES = 8 << 20

// No control characters: what is written down is shown somewhere, and Postgres takes no NUL.
const text = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^\P{Cc}*$/u)
const name = (most = 200) => text(most).min(1)
const count = z.int().min(0)
const at = z.int().min(0).nullable()
const uid = name(400)
const sha256 = z.string().regex(/^[0-9a-f]{64}$/)

export const tokens = z.strictObject({
  input: count,
  cache_read: count,
  cache_write_5m: count,
  cache_write_1h: count,
  output: count,
  reasoning: count,
})

const response = tokens.extend({
  id: name(400),
  at,
  model: text(200).nullable(),
  /** How many responses it stands for: parts of a sum, and costs, stand for none. */
  responses: count,
  /** A record that covers a whole turn says nothing about the size of each prompt in it. */
  is_turn: z.boolean(),
  /** In millionths of a cent, where the agent told it. */
  reported_cost: count.nullable(),
  /** False for what that machine counts in another session, or not at all. */
  counts: z.boolean(),
})

const edge = z.strictObject({ kind: z.enum(EDGE_KINDS), parent_uid: text(400), at })

/** A failure by its fingerprint, which is a hash. */
const failure = z.strictObject({
  fingerprint: name(100),
  tool: text(200),
  count,
  first_at: at,
  last_at: at,
  is_mended: z.boolean(),
})

const segment = z.strictObject({ sha256, bytes: count, first_seq: count, last_seq: count })

/** One session as one machine knows it: the whole of it each time. */
export const sessionPush = z.strictObject({
  version: z.literal(CONTRACT_VERSION),
  level: z.enum(LEVELS),
  /** The generation the machine was last told, 0 for none: another one was written meanwhile if it differs. */
  from: count,
  host: z.strictObject({ id: z.string().regex(/^[0-9a-f]{16}$/), name: name(100) }),
  user: name(100),
  session: z.strictObject({
    uid,
    flavor: name(50),
    repo: text(300).nullable(),
    domain: text(300).nullable(),
    model: text(200).nullable(),
    relation: z.enum(['main', 'subagent', 'fork']),
    is_helper: z.boolean(),
    started_at: at,
    ended_at: at,
    outcome: z.enum(OUTCOMES),
    turns: count,
    retries: count,
    errors: count,
    events: count,
  }),
  ledger: z.array(response).max(50_000),
  edges: z.array(edge).max(5000),
  failures: z.array(failure).max(500),
  /** The digest as `recollect digest --json` has it; from level `digest` on. */
  digest: z.record(z.string(), z.unknown()).nullable(),
  /** Of the redacted events; at level `full`. */
  segments: z.array(segment).max(10_000),
})
export type SessionPush = z.infer<typeof sessionPush>

export const ack = z.strictObject({
  /** `stored`, or `same`: it was there, to the last field. */
  state: z.enum(['stored', 'same']),
  generation: count,
})
export type Ack = z.infer<typeof ack>

export const refusal = z.strictObject({
  error: z.strictObject({ code: z.string(), message: z.string(), where: z.string(), hint: z.string() }),
  /** Of a push that came from another generation: the one there is. */
  generation: count.optional(),
  /** Of a push whose segments were not all put before: those that lack. */
  missing: z.array(sha256).optional(),
})

export const sessionLine = z.strictObject({
  session_uid: z.string(),
  flavor: z.string(),
  host: z.string(),
  user: z.string(),
  repo: z.string().nullable(),
  model: z.string().nullable(),
  title: z.string().nullable(),
  started_at: z.string().nullable(),
  ended_at: z.string().nullable(),
  outcome: z.enum(OUTCOMES),
  turns: count,
  errors: count,
  total_tokens: count,
  level: z.enum(LEVELS),
})
export type SessionLine = z.infer<typeof sessionLine>
export const sessionList = z.strictObject({ sessions: z.array(sessionLine), is_more: z.boolean() })

/** Groups of usage: `key` is null where it is not known. */
export const USAGE_KEYS = [
  'day',
  'week',
  'month',
  'model',
  'repo',
  'domain',
  'flavor',
  'host',
  'team',
] as const
const money = z.string().nullable()
const usageRow = z.strictObject({
  key: z.string().nullable(),
  responses: count,
  input_tokens: count,
  cache_read_tokens: count,
  cache_write_5m_tokens: count,
  cache_write_1h_tokens: count,
  output_tokens: count,
  reasoning_tokens: count,
  total_tokens: count,
  cost_usd: money,
  unpriced_responses: count,
  reported_cost_usd: money,
  reported_responses: count,
  cache_savings_usd: money,
  tree_cost_usd: money,
})
export const usageAnswer = z.strictObject({
  group: z.enum(USAGE_KEYS),
  timezone: z.string(),
  since: z.string().nullable(),
  until: z.string().nullable(),
  prices: z.strictObject({ list: z.string(), version: z.string(), date: z.string() }),
  /** What fewer than five people did stands together under `(fewer than five people)`, or not at all. */
  rows: z.array(usageRow),
  /** Null where fewer than five people did all of it. */
  total: usageRow.nullable(),
  models: z.array(
    z.strictObject({
      model: z.string().nullable(),
      priced_as: z.string().nullable(),
      responses: count,
      total_tokens: count,
    }),
  ),
})

export const outcomeAnswer = z.strictObject({
  outcomes: z.array(
    z.strictObject({ repo: z.string().nullable(), outcome: z.enum(OUTCOMES), sessions: count }),
  ),
  /** Sessions in groups of fewer than five people. */
  not_shown: z.boolean(),
})

const pattern = z.strictObject({
  fingerprint: z.string(),
  tool: z.string(),
  /** As one digest has it; null where nobody pushes digests. */
  sample: z.string().nullable(),
  count,
  sessions: count,
  repos: count,
  hosts: count,
  mended_sessions: count,
  /** Steps that overcame it, from a digest; null where there is none. */
  mend: z.string().nullable(),
  first_seen: z.string().nullable(),
  last_seen: z.string().nullable(),
})
export type FleetPattern = z.infer<typeof pattern>
export const patternAnswer = z.strictObject({ patterns: z.array(pattern) })

/** What a team did in a span; null where fewer than five people did it. */
const retroTotals = z
  .strictObject({
    people: count,
    sessions: count,
    subagents: count,
    turns: count,
    errors: count,
    retries: count,
    total_tokens: count,
    cost_usd: money,
    unpriced_responses: count,
  })
  .nullable()
const spent = z.strictObject({ key: z.string().nullable(), total_tokens: count, cost_usd: money })
export const retroAnswer = z.strictObject({
  timezone: z.string(),
  since: z.string(),
  until: z.string(),
  /** When the span began that it is compared with: it ends where this one begins. */
  before: z.string(),
  prices: z.strictObject({ list: z.string(), version: z.string(), date: z.string() }),
  totals: retroTotals,
  previous_totals: retroTotals,
  outcomes: z.array(z.strictObject({ outcome: z.enum(OUTCOMES), sessions: count })),
  days: z.array(spent),
  flavors: z.array(spent),
  repos: z.array(spent),
  models: z.array(spent),
  /** `is_old`: it was there before this span. */
  failures: z.array(pattern.extend({ is_old: z.boolean() })),
  /** Those with most tokens; none for viewers. */
  largest: z.array(sessionLine),
})
export type RetroAnswer = z.infer<typeof retroAnswer>

export const lineageAnswer = z.strictObject({
  sessions: z.array(sessionLine),
  edges: z.array(
    z.strictObject({
      session_uid: z.string(),
      kind: z.enum(EDGE_KINDS),
      parent_uid: z.string(),
      at: z.string().nullable(),
    }),
  ),
})

export type LineageAnswer = z.infer<typeof lineageAnswer>

/** The digest as its machine pushed it: `recollect digest --json`, redacted. */
export const digestAnswer = z.record(z.string(), z.unknown())

/** Orders of a list: the newest, or those with most of it, first. */
export const SESSION_ORDERS = ['recent', 'tokens', 'duration', 'errors'] as const

export const auditAnswer = z.strictObject({
  entries: z.array(
    z.strictObject({ at: z.string(), reader: z.string(), session_uid: z.string(), what: z.string() }),
  ),
})
