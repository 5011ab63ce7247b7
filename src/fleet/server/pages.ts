// The pages of a team server, for people who are signed in: what its questions answer, as plain HTML without scripts. Every text
// in them is foreign and escaped. What only a machine's own memory can show (transcripts, tools, storage, health) is not here,
// and the pages say so.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { z } from 'zod'
import {
  type FleetPattern,
  type RetroAnswer,
  type SessionLine,
  type sessionList,
  USAGE_KEYS,
  type usageAnswer,
} from '../../contract.ts'
import { OUTCOME_WORDS } from '../../model.ts'
import { dateOf, TimeZone } from '../../query/timezone.ts'
import { escapeHtml } from '../../retro/escape.ts'
import { documentHtml, htmlPage } from '../../retro/html.ts'
import { before, labelOf, periodOf, startOf } from '../../retro/period.ts'
import { costText, count, tokens } from '../../retro/words.ts'
import type { Caller } from '../../store/postgres/access.ts'
import { teamDocument } from '../retro-document.ts'
import { ROUTES, type RouteName } from '../routes.ts'
import { ANSWERS, type Serving } from './answers.ts'
import { Refusal } from './guard.ts'

export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  // Styles stand in the page; nothing else is loaded, run or framed.
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
}

type View = (ask: Ask, query: URLSearchParams) => Promise<{ title: string; body: string }>
type Ask = <T>(name: RouteName, query?: Record<string, string>) => Promise<T>

const VIEWS: Record<string, { name: string; view: View }> = {
  '/': { name: 'Week', view: week },
  '/sessions': { name: 'Sessions', view: sessions },
  '/search': { name: 'Search', view: search },
  '/usage': { name: 'Usage', view: usage },
  '/patterns': { name: 'Patterns', view: patterns },
  '/session': { name: '', view: session },
}

export const isPage = (path: string): boolean => Object.hasOwn(VIEWS, path)

/** One page, asked with the role of whoever is signed in: exactly what the questions answer them. */
export async function page(
  serving: Serving,
  caller: Caller,
  path: string,
  query: URLSearchParams,
): Promise<string> {
  const ask: Ask = async (name, asked = {}) => {
    if (!(ROUTES[name].roles as readonly string[]).includes(caller.role))
      throw new Refusal(
        403,
        'REFUSED',
        `a ${caller.role} may not`,
        'ask whoever runs the server for another role',
      )
    return (await ANSWERS[name]?.(serving, caller, new URLSearchParams(asked))) as never
  }
  const { title, body } = await (VIEWS[path] as { view: View }).view(ask, query)
  return framed(title, body, caller, path)
}

function framed(title: string, body: string, { person, team, role }: Caller, path: string): string {
  const links = Object.entries(VIEWS)
    .filter(([, { name }]) => name !== '')
    .map(([to, { name }]) => `<a href="${to}"${to === path ? ' aria-current="page"' : ''}>${name}</a>`)
  const who = `${escapeHtml(person)}, ${role} of ${escapeHtml(team)}`
  return htmlPage(
    `${title} · Recollect`,
    `<nav aria-label="views">${links.join(' · ')}</nav>
<form method="post" action="/logout"><p>${who} <button>Sign out</button></p></form>
${body}
<footer><p>Transcripts, tools, storage and health are shown by each machine: <code>recollect ui</code> there.</p></footer>`,
  )
}

/** A page for whoever is not signed in, or went wrong. */
export const plainPage = (title: string, body: string): string =>
  htmlPage(`${title} · Recollect`, `<header><h1>${escapeHtml(title)}</h1></header><main>${body}</main>`)

const NUMBER = ' class="number"'

/** `cells` are markup; the last `numbers` of them are set to the right. */
function table(columns: readonly string[], rows: readonly string[][], numbers: number): string {
  const at = (index: number): string => (index >= columns.length - numbers ? NUMBER : '')
  const head = columns.map((one, index) => `<th scope="col"${at(index)}>${escapeHtml(one)}</th>`)
  const body = rows.map(
    (row) => `<tr>${row.map((cell, index) => `<td${at(index)}>${cell}</td>`).join('')}</tr>`,
  )
  return `<section><div class="scroll"><table><thead><tr>${head.join('')}</tr></thead><tbody>${body.join('')}</tbody></table></div></section>`
}

const heading = (title: string): string => `<header><h1>${escapeHtml(title)}</h1></header>`
const empty = (text: string): string => `<section><p>${escapeHtml(text)}</p></section>`
const time = (at: string | null): string => (at === null ? '' : at.slice(0, 16).replace('T', ' '))
const sessionLink = (uid: string, text: string): string =>
  `<a href="/session?uid=${escapeHtml(encodeURIComponent(uid))}">${escapeHtml(text || uid)}</a>`

/** The last seven days, as the server's own clock has them. */
async function week(ask: Ask): ReturnType<View> {
  const zone = new TimeZone('UTC')
  const period = periodOf({}, zone, Date.now())
  const earlier = before(period)
  const answer = await ask<RetroAnswer>('retro', {
    since: String(startOf(period.firstDay, zone)),
    until: String(startOf(period.endDay, zone)),
    before: String(startOf(earlier.firstDay, zone)),
  })
  const labels = { period: labelOf(period), before: labelOf(earlier) }
  return {
    title: `Week to ${dateOf(period.endDay - 1)}`,
    body: documentHtml(teamDocument(answer, labels, new Map())),
  }
}

type Sessions = z.infer<typeof sessionList>

function sessionTable({ sessions: lines, is_more: isMore }: Sessions): string {
  const rows = lines.map((one: SessionLine) => [
    time(one.started_at),
    sessionLink(one.session_uid, one.title ?? ''),
    ...[one.user, one.host, one.flavor, one.repo ?? '', OUTCOME_WORDS[one.outcome]].map(escapeHtml),
    ...[count(one.turns), count(one.errors), tokens(one.total_tokens)],
  ])
  const columns = [
    'Started, UTC',
    'Session',
    'User',
    'Machine',
    'Agent',
    'Repository',
    'Outcome',
    'Turns',
    'Errors',
    'Tokens',
  ]
  return table(columns, rows, 3) + (isMore ? empty(`The first ${lines.length}; there are more.`) : '')
}

async function sessions(ask: Ask, query: URLSearchParams): ReturnType<View> {
  const sort = query.get('sort') ?? 'recent'
  const found = await ask<Sessions>('sessions', { limit: '200', sort })
  const body =
    found.sessions.length === 0 ? empty('There is no session that you may see.') : sessionTable(found)
  return { title: 'Sessions', body: heading('Sessions') + body }
}

async function search(ask: Ask, query: URLSearchParams): ReturnType<View> {
  const typed = query.get('q') ?? ''
  const form = `<form method="get" action="/search"><label>Words of a digest <input name="q" value="${escapeHtml(typed)}" required></label> <button>Search</button></form>`
  const found = typed === '' ? undefined : await ask<Sessions>('search', { q: typed, limit: '100' })
  const body =
    found === undefined
      ? ''
      : found.sessions.length === 0
        ? empty('No digest that you may read holds all of these words.')
        : sessionTable(found)
  return { title: 'Search', body: heading('Search') + form + body }
}

async function usage(ask: Ask, query: URLSearchParams): ReturnType<View> {
  const by = query.get('by') ?? 'week'
  const { rows, total, prices } = await ask<z.infer<typeof usageAnswer>>('usage', { by })
  const groups = USAGE_KEYS.map(
    (one) => `<a href="/usage?by=${one}"${one === by ? ' aria-current="page"' : ''}>${one}</a>`,
  )
  const line = (key: string, row: (typeof rows)[number]): string[] => [
    escapeHtml(key),
    count(row.responses),
    ...[row.input_tokens, row.cache_read_tokens, row.output_tokens, row.total_tokens].map(tokens),
    escapeHtml(costText(row)),
  ]
  const columns = [by, 'Responses', 'Input', 'From cache', 'Output', 'Tokens', 'Cost']
  const body =
    total === null
      ? empty('Fewer than five people used anything: not shown.')
      : table(columns, [...rows.map((row) => line(row.key ?? '(unknown)', row)), line('total', total)], 6)
  const note = empty(`Days in UTC; list prices of ${prices.date} (${prices.list} ${prices.version}).`)
  return { title: 'Usage', body: `${heading('Usage')}<p>by ${groups.join(' · ')}</p>${body}${note}` }
}

async function patterns(ask: Ask): ReturnType<View> {
  const { patterns: found } = await ask<{ patterns: FleetPattern[] }>('patterns', { limit: '100' })
  const rows = found.map((one) => [
    `<code>${escapeHtml(one.sample ?? one.fingerprint)}</code>`,
    escapeHtml(one.tool),
    escapeHtml(one.mend ?? ''),
    ...[one.count, one.sessions, one.hosts, one.mended_sessions].map(count),
  ])
  const columns = ['Failure', 'Tool', 'Mended by', 'Times', 'Sessions', 'Machines', 'Mended in']
  const body = rows.length === 0 ? empty('Nothing failed for five people or more.') : table(columns, rows, 4)
  return { title: 'Patterns', body: heading('What keeps failing') + body }
}

async function session(ask: Ask, query: URLSearchParams): ReturnType<View> {
  const uid = query.get('uid') ?? ''
  const digest = await ask<Record<string, unknown>>('digest', { uid })
  const text = (name: string): string => (typeof digest[name] === 'string' ? (digest[name] as string) : '')
  const list = (name: string, field: string): string[] => {
    const items = digest[name]
    return Array.isArray(items) ? items.map((one) => String(one?.[field] ?? '')).filter(Boolean) : []
  }
  const detail = digest['outcome_detail'] as { reason?: unknown } | undefined
  const outcome = text('outcome') in OUTCOME_WORDS ? OUTCOME_WORDS[text('outcome') as 'fail'] : 'unknown'
  const verdict = [outcome, typeof detail?.reason === 'string' ? detail.reason : '']
    .filter(Boolean)
    .join(': ')
  const part = (title: string, items: readonly string[]): string =>
    items.length === 0
      ? ''
      : `<section><h2>${title}</h2>${items.map((one) => `<p>${escapeHtml(one)}</p>`).join('')}</section>`
  const body = [
    heading(text('title') || uid),
    part('Verdict', [verdict]),
    part('Asked', [text('first_prompt')].filter(Boolean)),
    part('Ended with', [text('last_assistant')].filter(Boolean)),
    part('Failures', list('error_snippets', 'sample')),
    part('Files', list('files', 'path')),
    part('Commands', list('commands', 'command')),
    part('Commits', list('commits', 'subject')),
    part('Session', [text('session_uid') || uid]),
  ]
  return { title: text('title') || 'Session', body: body.join('') }
}

export function sendPage(
  response: ServerResponse,
  status: number,
  html: string,
  headers: Record<string, string> = {},
): void {
  const body = Buffer.from(html)
  response.writeHead(status, { ...PAGE_HEADERS, ...headers, 'content-length': body.length }).end(body)
}

/** A browser that opens an address, rather than a program that asks. */
export const isOpened = ({ headers }: IncomingMessage): boolean => /\btext\/html\b/.test(headers.accept ?? '')
