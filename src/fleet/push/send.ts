// Requests to a team server. What it answers is sorted into done, not now, and no: nothing is taken for done but its word.
import { ack, refusal, type SessionPush } from '../../contract.ts'
import { RecollectError } from '../../errors.ts'
import { textWithin } from '../../http.ts'

export interface Server {
  url: string
  /** `rct_…`, or `name:password` of a person. */
  token: string
  timeoutMs: number
}

/** Nobody on the way reads what is sent: encrypted, or not leaving this machine. */
export const isPrivate = (url: string): boolean => {
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' || /^(?:localhost|\[::1\]|127(?:\.\d{1,3}){3})$/.test(hostname)
}

const authorizationOf = (token: string): string =>
  token.includes(':') ? `Basic ${Buffer.from(token).toString('base64')}` : `Bearer ${token}`

export interface Answer {
  status: number
  body: unknown
}

const PAUSES = 6
/** Above what a server of ours answers to any question. */
const MAX_ANSWER_BYTES = 64 << 20

/** Waits where the server asks for it, for at most some seconds in all. */
export async function ask(
  { url, token, timeoutMs }: Server,
  method: string,
  path: string,
  body?: Uint8Array | string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    const answer = await once()
    if ((answer.status !== 429 && answer.status !== 503) || attempt === PAUSES) return answer
    await new Promise((done) => setTimeout(done, 100 * 2 ** attempt * (0.5 + Math.random())))
  }
  async function once(): Promise<Answer> {
    // What was closed while this program was at work is heard of first: it would be used again.
    await new Promise((heard) => setImmediate(heard))
    try {
      const response = await fetch(new URL(path, url), {
        method,
        headers: { authorization: authorizationOf(token), ...headers },
        ...(body === undefined ? {} : { body: body as string }),
        redirect: 'error',
        signal: AbortSignal.timeout(timeoutMs),
      })
      const text = await textWithin(response, MAX_ANSWER_BYTES)
      const isJson = /^application\/json/.test(response.headers.get('content-type') ?? '')
      return { status: response.status, body: isJson ? JSON.parse(text) : text }
    } catch (error) {
      throw error instanceof RecollectError ? error : unreachable(url, error, method)
    }
  }
}

const unreachable = (url: string, error: unknown, method: string): RecollectError =>
  new RecollectError('UNREACHABLE', 'the team server does not answer', {
    where: new URL(url).origin,
    cause: (error as { cause?: unknown }).cause ?? error,
    hint:
      method === 'GET'
        ? 'is the address right, and is recollect serve running there?'
        : 'what was not sent waits here: the next sweep, or recollect push, goes on',
  })

/** Says why the server did not take something. */
export function notTaken(url: string, { status, body }: Answer): RecollectError {
  const told = refusal.safeParse(body).data?.error
  // A token that is not good, and a server that is not well, are about no single session.
  const code = status === 401 ? 'BAD_CONFIG' : status >= 500 || status === 429 ? 'UNREACHABLE' : 'REFUSED'
  return new RecollectError(code, `the team server answered ${status}${told ? `: ${told.message}` : ''}`, {
    where: new URL(url).origin,
    hint: told?.hint ?? 'see its log',
  })
}

export type Sent = { state: 'acknowledged'; generation: number } | { state: 'forgotten' }

/** Segments first, then the session: its commit is what counts. */
export async function sendSession(
  server: Server,
  push: SessionPush,
  segments: ReadonlyMap<string, Buffer>,
  acknowledged: ReadonlySet<string>,
): Promise<Sent> {
  for (const [sha256, bytes] of segments)
    if (!acknowledged.has(sha256)) await putSegment(server, sha256, bytes)
  let { from } = push
  for (let attempt = 1; ; attempt++) {
    const answer = await ask(server, 'PUT', '/v1/sessions', JSON.stringify({ ...push, from }), {
      'content-type': 'application/json',
    })
    if (answer.status === 200) return { state: 'acknowledged', generation: ack.parse(answer.body).generation }
    if (answer.status === 410) return { state: 'forgotten' }
    const told = refusal.safeParse(answer.body).data
    const missing = told?.missing?.filter((one) => segments.has(one)) ?? []
    if (answer.status !== 409 || attempt === 4 || (told?.generation === undefined && missing.length === 0))
      throw notTaken(server.url, answer)
    for (const one of missing) await putSegment(server, one, segments.get(one) as Buffer)
    from = told?.generation ?? from
  }
}

async function putSegment(server: Server, sha256: string, bytes: Buffer): Promise<void> {
  const answer = await ask(server, 'PUT', `/v1/segments/${sha256}`, new Uint8Array(bytes), {
    'if-none-match': '*',
  })
  if (answer.status !== 201 && answer.status !== 412) throw notTaken(server.url, answer)
}
