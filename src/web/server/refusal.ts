// Why there is no answer, told to a program in JSON, to who opens it in a browser as a page, to others in the words of the
// command line. Our own words only: of what was asked for nothing stands in a page.
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { type ErrorCode, RecollectError } from '../../errors.ts'
import { refuse } from '../../http.ts'

export interface Refusal {
  status: number
  code: ErrorCode
  what: string
  hint: string
  headers?: OutgoingHttpHeaders
}

const PRINTED = 'the address that recollect ui printed'

export const FOREIGN_HOST: Refusal = {
  status: 421,
  code: 'USAGE',
  what: 'this name is not served here',
  hint: `open ${PRINTED}, by the name that stands in it`,
}
export const FOREIGN_ORIGIN: Refusal = {
  status: 403,
  code: 'USAGE',
  what: 'asked from another site',
  hint: `open the page by ${PRINTED}, and ask from there`,
}
export const NO_COOKIE: Refusal = {
  status: 401,
  code: 'USAGE',
  what: 'not signed in',
  hint: `open ${PRINTED}; it is good once, so start recollect ui again for another`,
}
export const NO_PASSWORD: Refusal = { ...NO_COOKIE, hint: 'reload the page and give the password' }
export const NO_PAGE_TOKEN: Refusal = {
  status: 403,
  code: 'USAGE',
  what: 'the token of the page is missing',
  hint: 'reload the page',
}
export const USED_TOKEN: Refusal = {
  status: 401,
  code: 'USAGE',
  what: 'this address was used before',
  hint: 'start recollect ui again for another',
}
export const TOO_LARGE: Refusal = {
  status: 413,
  code: 'TOO_LARGE',
  what: 'this is more than any question has',
  hint: 'send less',
}

export const wrongMethod = (allowed: string): Refusal => ({
  status: 405,
  code: 'USAGE',
  what: 'this is not asked in this way',
  hint: `ask with ${allowed}`,
  headers: { allow: allowed },
})

export const tooManyTries = (waitMs: number): Refusal => {
  const seconds = Math.ceil(waitMs / 1000)
  return {
    status: 429,
    code: 'BUSY',
    what: 'too many passwords were tried from this address',
    hint: `wait ${seconds} seconds; this one was not looked at`,
    headers: { 'retry-after': String(seconds) },
  }
}

/** Outside the page itself: sign-in, refusals. `inner` is made of our own words. */
export const smallPage = (inner: string, head = ''): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Recollect</title><link rel="stylesheet" href="/style.css">${head}</head><body><main class="login"><h1>Recollect</h1>
${inner}</main></body></html>`

/** A browser opens a page or sends a form. */
export const isNavigation = ({ headers }: IncomingMessage): boolean =>
  headers['sec-fetch-mode'] === 'navigate'

export const pathOf = ({ url }: IncomingMessage): string => (url ?? '/').split('?')[0] as string

/** As a text of the wanted form. */
export function told(
  path: string,
  isOpened: boolean,
  { code, what, hint }: Refusal,
): { type: string; body: string } {
  if (path.startsWith('/api/')) {
    const error = new RecollectError(code, what, { where: path, hint })
    return { type: 'application/json', body: JSON.stringify({ error }) }
  }
  if (isOpened) {
    const page = smallPage(`<p role="alert">${what}</p><p>${hint}</p>`)
    return { type: 'text/html; charset=UTF-8', body: page }
  }
  return {
    type: 'text/plain; charset=UTF-8',
    body: `error: ${what} [${code}]\nwhere: ${path}\ntry: ${hint}\n`,
  }
}

export function answerRefused(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
  const { type, body } = told(pathOf(request), isNavigation(request), refusal)
  refuse(request, response, {
    status: refusal.status,
    headers: { ...refusal.headers, 'content-type': type },
    body,
  })
}
