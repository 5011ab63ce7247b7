// What our servers and clients share: bodies within a bound, and refusals that the client lives to read. A server that closes
// while a client still sends breaks the connection under it, and the answer is lost with it.
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { RecollectError } from './errors.ts'

/** A client may go on sending what nobody wants: with no longer a pause, no longer and no more in all than this. */
const MAX_PAUSE_MS = 2000
const HEAR_OUT_MS = 30_000
const HEAR_OUT_BYTES = 64 << 20

/** Answers at once, hears the client out, and ends the connection. */
export function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: { status: number; headers: OutgoingHttpHeaders; body: string },
): void {
  response.writeHead(status, {
    ...headers,
    connection: 'close',
    'content-length': Buffer.byteLength(body),
  })
  response.write(body)
  const end = (): void => void response.end()
  const startedAt = Date.now()
  let bytes = 0
  let pause = setTimeout(end, MAX_PAUSE_MS)
  response.once('close', () => clearTimeout(pause))
  request.on('data', (part: Buffer) => {
    bytes += part.length
    clearTimeout(pause)
    if (bytes > HEAR_OUT_BYTES || Date.now() - startedAt > HEAR_OUT_MS) end()
    else pause = setTimeout(end, MAX_PAUSE_MS)
  })
  if (request.readableEnded) end()
  else request.once('end', end).once('error', end)
}

/** The whole body; undefined if it is larger: the rest is left unread then. */
export function bodyOf(request: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.resolve(undefined)
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    let bytes = 0
    const read = (part: Buffer): void => {
      bytes += part.length
      parts.push(part)
      if (bytes <= maxBytes) return
      request.off('data', read)
      resolve(undefined)
    }
    request.on('data', read)
    request.once('end', () => resolve(Buffer.concat(parts)))
    request.once('error', reject)
    request.once('close', () =>
      reject(
        new RecollectError('UNREACHABLE', 'the client went away while it sent', {
          where: request.url ?? '/',
          hint: 'ask again',
        }),
      ),
    )
  })
}

/** The text of what a server answers. One that never ends would fill the memory, whoever sends it. */
export async function textWithin(response: Response, maxBytes: number): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.length
    if (bytes > maxBytes)
      throw new RecollectError('UNREACHABLE', `what answers there sends more than ${maxBytes} bytes`, {
        where: new URL(response.url).origin,
        hint: 'is this the right address?',
      })
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}
