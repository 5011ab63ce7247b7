// Hands OTLP requests to a collector over HTTP, one after another. What a collector asks to be sent again is; what it
// refuses is an error that says so.
import { RecollectError } from '../errors.ts'
import { textWithin } from '../http.ts'

const TRIES = 5
const AGAIN = new Set([429, 502, 503, 504])
/** It is there, and this is what it does not take. */
const NOT_TAKEN = new Set([400, 413, 415, 422])
const TIMEOUT_MS = 30_000
/** Above what a collector has to say of one request. */
const MAX_ANSWER_BYTES = 1 << 20

/** Where requests go: an address without a path gets the one collectors listen on. */
export function tracesUrl(endpoint: string): URL {
  let url: URL
  try {
    url = new URL(endpoint)
  } catch (cause) {
    throw new RecollectError('USAGE', `${endpoint} is no address`, {
      where: '--endpoint',
      cause,
      hint: 'such as http://localhost:4318',
    })
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new RecollectError('USAGE', `${url.protocol} cannot be sent to`, {
      where: '--endpoint',
      hint: 'http: or https:',
    })
  if (url.username !== '' || url.password !== '')
    throw new RecollectError('USAGE', 'an address with a password cannot be sent to', {
      where: '--endpoint',
      hint: 'leave user and password out: run a collector on this machine that adds them',
    })
  if (url.pathname === '/') url.pathname = '/v1/traces'
  return url
}

/** Without what stands behind a question mark, which may be a key. */
export const placeOf = (url: URL): string => url.origin + url.pathname

/** Returns how many spans the collector took but would not keep. */
export async function send(url: URL, body: string, waitMs = 500): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const response = await post(url, body)
    if (response.ok) return await rejected(response)
    if (!AGAIN.has(response.status) || attempt === TRIES)
      throw new RecollectError(
        NOT_TAKEN.has(response.status) ? 'REFUSED' : 'IO',
        `the collector answered ${response.status}`,
        {
          where: placeOf(url),
          hint:
            response.status === 404 ? 'is the path right? OTLP over HTTP is at /v1/traces' : 'see its log',
        },
      )
    await response.body?.cancel()
    const asked = Number(response.headers.get('retry-after'))
    const wait = asked > 0 ? Math.min(asked * 1000, TIMEOUT_MS) : waitMs * 2 ** (attempt - 1)
    await new Promise((resolve) => setTimeout(resolve, wait))
  }
}

async function post(url: URL, body: string): Promise<Response> {
  try {
    return await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
  } catch (error) {
    const { cause } = error as { cause?: unknown }
    throw new RecollectError('IO', 'the collector cannot be reached', {
      where: placeOf(url),
      cause: cause ?? error,
      hint: 'is it running, and does it take OTLP over HTTP?',
    })
  }
}

async function rejected(response: Response): Promise<number> {
  try {
    const text = await textWithin(response, MAX_ANSWER_BYTES)
    const { partialSuccess } = JSON.parse(text) as { partialSuccess?: { rejectedSpans?: string | number } }
    return Number(partialSuccess?.rejectedSpans ?? 0)
  } catch {
    // Not every collector answers with a document.
    return 0
  }
}
