// What a team server can be asked, how, and by whom: the routes of the contract, with the schemas of `contract.ts`.
import type { z } from 'zod'
import {
  ack,
  auditAnswer,
  digestAnswer,
  lineageAnswer,
  outcomeAnswer,
  patternAnswer,
  type Role,
  retroAnswer,
  SESSION_ORDERS,
  sessionList,
  sessionPush,
  USAGE_KEYS,
  usageAnswer,
} from '../contract.ts'
import { OUTCOMES } from '../model.ts'

/** What can be asked, how, and by whom. */
export interface Route {
  method: 'GET' | 'PUT' | 'DELETE'
  path: string
  roles: readonly Role[]
  summary: string
  query?: Record<string, string>
  body?: z.ZodType
  answer?: z.ZodType
  /** Answers besides 200, with what each means. */
  statuses: Record<number, string>
}

const PEOPLE = ['viewer', 'lead', 'auditor', 'admin'] as const
const SPAN = { since: 'epoch milliseconds', until: 'epoch milliseconds, exclusive' }
const SESSION = 'a session: its uid, its id, or a unique beginning of either'
const NARROWED = {
  repo: 'exact name',
  domain: 'exact name',
  flavor: 'exact name',
  model: 'exact name',
  host: 'name of a machine',
  outcome: OUTCOMES.join(', '),
  errors: '1: in which something failed',
}
const KEPT = { 403: 'this token may not', 429: 'busy: come back after Retry-After' }

export const ROUTES = {
  putSegment: {
    method: 'PUT',
    path: '/v1/segments/{sha256}',
    roles: ['device'],
    summary:
      'Keeps redacted events: gzip of JSON lines, under the hash of the bytes that are sent. Needs If-None-Match: *.',
    statuses: {
      201: 'kept',
      412: 'it was there before: as good as 201',
      413: 'too large',
      422: 'the bytes have another hash, or hold a secret',
      ...KEPT,
    },
  },
  putSession: {
    method: 'PUT',
    path: '/v1/sessions',
    roles: ['device'],
    summary:
      'Writes one session in one transaction. 200 comes after the commit, as synchronous as the database is told to be.',
    body: sessionPush,
    answer: ack,
    statuses: {
      200: 'committed, or the same was before',
      409: 'it was written from another generation, or segments lack',
      410: 'it was forgotten',
      413: 'too large',
      422: 'not as this contract has it, or it holds a secret',
      ...KEPT,
    },
  },
  deleteSession: {
    method: 'DELETE',
    path: '/v1/sessions',
    roles: ['device'],
    summary: 'Forgets what this machine pushed of a session, for good.',
    query: { uid: 'the session', host: 'id of the machine' },
    statuses: { 204: 'gone, or never was here', 409: 'a legal hold keeps it', ...KEPT },
  },
  sessions: {
    method: 'GET',
    path: '/v1/sessions',
    roles: PEOPLE,
    summary: 'Sessions, newest first. A viewer sees the own ones only.',
    query: {
      ...SPAN,
      ...NARROWED,
      sort: SESSION_ORDERS.join(', '),
      all: "1: sub-agents' sessions and helper conversations too",
      limit: 'at most 1000',
    },
    answer: sessionList,
    statuses: KEPT,
  },
  search: {
    method: 'GET',
    path: '/v1/search',
    roles: PEOPLE,
    summary: 'Sessions whose digest holds all words. A viewer finds the own ones only.',
    query: { q: 'words', ...SPAN, ...NARROWED, limit: 'at most 1000' },
    answer: sessionList,
    statuses: KEPT,
  },
  usage: {
    method: 'GET',
    path: '/v1/usage',
    roles: PEOPLE,
    summary: 'Tokens and money, each response once however many machines tell it.',
    query: { by: USAGE_KEYS.join(', '), zone: 'name of a time zone', ...SPAN },
    answer: usageAnswer,
    statuses: KEPT,
  },
  outcomes: {
    method: 'GET',
    path: '/v1/outcomes',
    roles: PEOPLE,
    summary: 'How sessions ended, by repository.',
    query: SPAN,
    answer: outcomeAnswer,
    statuses: KEPT,
  },
  patterns: {
    method: 'GET',
    path: '/v1/patterns',
    roles: PEOPLE,
    summary: 'Failures that recur over sessions and machines, with what mended them.',
    query: { since: SPAN.since, limit: 'at most 1000' },
    answer: patternAnswer,
    statuses: KEPT,
  },
  retro: {
    method: 'GET',
    path: '/v1/retro',
    roles: PEOPLE,
    summary:
      'The account of a span: work, cost, what kept failing and what mended it, against the span before.',
    query: { ...SPAN, before: 'when the span before began, epoch milliseconds', zone: 'name of a time zone' },
    answer: retroAnswer,
    statuses: KEPT,
  },
  lineage: {
    method: 'GET',
    path: '/v1/lineage',
    roles: ['lead', 'auditor', 'admin'],
    summary: 'The tree a session is in, over all machines.',
    query: { uid: SESSION },
    answer: lineageAnswer,
    statuses: { 404: 'no such session', ...KEPT },
  },
  digest: {
    method: 'GET',
    path: '/v1/digest',
    roles: PEOPLE,
    summary: "A session's digest. A viewer reads the own ones only; who reads another's is in the audit log.",
    query: { uid: SESSION },
    answer: digestAnswer,
    statuses: { 404: 'no such session, or nobody pushed its digest', ...KEPT },
  },
  text: {
    method: 'GET',
    path: '/v1/text',
    roles: ['auditor', 'admin'],
    summary:
      'The redacted events of a session, as JSON lines. Recorded in the audit log before the first byte.',
    query: { uid: 'a session' },
    statuses: { 404: 'nobody pushed its text, or the store lost some of it', ...KEPT },
  },
  audit: {
    method: 'GET',
    path: '/v1/audit',
    roles: PEOPLE,
    summary: 'Who read whose text or digest: of oneself; an admin sees all of the team.',
    answer: auditAnswer,
    statuses: KEPT,
  },
} as const satisfies Record<string, Route>
export type RouteName = keyof typeof ROUTES
