// The page of a team server: the bundle that `recollect ui` shows (web/page), told what there is to see here and for whom; and the
// plain pages of those who are not signed in, or went wrong.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { escapeHtml } from '../../retro/escape.ts'
import { htmlPage } from '../../retro/html.ts'
import type { Caller } from '../../store/postgres/access.ts'
import { type Assets, loadAssets } from '../../web/server/assets.ts'
import { PAGE_HEADERS } from '../../web/server/guard.ts'
import type { Here } from '../../web/server/here.ts'
import { ROUTES } from '../routes.ts'

const VIEWS = ['/', '/sessions', '/search', '/usage', '/patterns', '/retro']

export const isPage = (path: string): boolean =>
  [...VIEWS, '/lineage'].includes(path) || /^\/s\/[^/]+$/.test(path)

let assets: Assets | undefined

/** Read when somebody first looks: a server that only takes sessions needs no page. */
const loaded = (): Assets => {
  assets ??= loadAssets()
  return assets
}

/** A file of the bundle; undefined for any other name. */
export const fileOf = (path: string): ReturnType<Assets['file']> =>
  /^\/[\w-]+\.\w+$/.test(path) ? loaded().file(path.slice(1)) : undefined

const may = (caller: Caller, route: 'lineage' | 'text'): boolean =>
  (ROUTES[route].roles as readonly string[]).includes(caller.role)

/** Text is read behind a click: it is written down that it was. */
export function documentFor(caller: Caller): string {
  const here: Here = {
    team: { team: caller.team, person: caller.person, role: caller.role },
    views: [...VIEWS, ...(may(caller, 'lineage') ? ['/lineage'] : [])],
    tabs: [
      'signals',
      ...(may(caller, 'lineage') ? ['lineage'] : []),
      ...(may(caller, 'text') ? ['transcript', 'timeline', 'raw'] : []),
    ],
  }
  return loaded().document('', '', here)
}

/** For whoever is not signed in, or went wrong. */
export const plainPage = (title: string, body: string): string =>
  htmlPage(`${title} · Recollect`, `<header><h1>${escapeHtml(title)}</h1></header><main>${body}</main>`)

const PLAIN_HEADERS = {
  ...PAGE_HEADERS,
  // Styles stand in the page; nothing else is loaded, run or framed.
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
}

export function sendPage(
  response: ServerResponse,
  { status, body: text, type, isPlain }: { status: number; body: string; type: string; isPlain: boolean },
): void {
  const body = Buffer.from(text)
  const headers = {
    ...(isPlain ? PLAIN_HEADERS : PAGE_HEADERS),
    'content-type': type,
    'content-length': body.length,
  }
  response.writeHead(status, headers).end(body)
}

/** A browser that opens an address, rather than a program that asks. */
export const isOpened = ({ headers }: IncomingMessage): boolean => /\btext\/html\b/.test(headers.accept ?? '')
