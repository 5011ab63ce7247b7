// The server over HTTP, for clients that cannot start a program. Loopback only; a request needs the token, a Host of
// this machine and, from a browser, an Origin of this machine: a page on the web can reach this port but not pass.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import {
  createMcpHandler,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  type McpServerFactory,
  validateHostHeader,
  validateOriginHeader,
} from '@modelcontextprotocol/server'
import { type ErrorCode, fromSystem, RecollectError } from '../errors.ts'
import { bodyOf, refuse } from '../http.ts'

export interface HttpServer {
  url: string
  token: string
  close(): Promise<void>
}

const HOST = '127.0.0.1'
const PATH = '/mcp'
const MAX_BODY = 1 << 20
/** The first of the codes that JSON-RPC leaves to servers. */
const REFUSED = -32_000

/** Listens on a port of the loopback interface; 0 takes a free one. */
export async function serveHttp(
  factory: McpServerFactory,
  port: number,
  token = newToken(),
): Promise<HttpServer> {
  const handler = createMcpHandler(factory, { maxRequestBodySize: MAX_BODY })
  const server = createServer((request, response) => {
    const refusal = refusalOf(request, token)
    if (refusal) refused(request, response, refusal)
    else answer(request, response, handler.fetch).catch(() => response.destroy())
  })
  await listen(server, port)
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}${PATH}`,
    token,
    close: async () => {
      await handler.close()
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

const newToken = (): string => randomBytes(32).toString('base64url')

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(fromSystem(error, 'cannot listen', `${HOST}:${port}`)))
    server.listen(port, HOST, resolve)
  })
}

interface Refusal {
  status: number
  code: ErrorCode
  what: string
  hint: string
  headers?: Record<string, string>
}

function refusalOf(request: IncomingMessage, token: string): Refusal | undefined {
  const host = validateHostHeader(request.headers.host, localhostAllowedHostnames())
  if (!host.ok) return FOREIGN_HOST
  const origin = validateOriginHeader(request.headers.origin, localhostAllowedOrigins())
  if (!origin.ok) return FOREIGN_ORIGIN
  const given = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
  if (!timingSafeEqual(hash(given), hash(token))) return NO_TOKEN
  // Not parsed: a request may ask for what is no address, such as `//`.
  if ((request.url ?? '').split('?')[0] !== PATH)
    return { status: 404, code: 'NOT_FOUND', what: 'nothing is here', hint: `the server is at ${PATH}` }
  if (request.method === 'TRACE')
    return { status: 405, code: 'USAGE', what: 'TRACE is no way to ask', hint: 'POST a message' }
  return undefined
}

const FOREIGN_HOST: Refusal = {
  status: 403,
  code: 'USAGE',
  what: 'this server answers to loopback names only',
  hint: `ask ${HOST} or localhost`,
}
const FOREIGN_ORIGIN: Refusal = {
  status: 403,
  code: 'USAGE',
  what: 'this origin may not ask',
  hint: 'ask from a page of this machine, or from a program, which sends no Origin',
}
const NO_TOKEN: Refusal = {
  status: 401,
  code: 'USAGE',
  what: 'a token is needed',
  hint: 'send Authorization: Bearer TOKEN; recollect mcp serve --http prints it, RECOLLECT_MCP_TOKEN sets it',
  headers: { 'www-authenticate': 'Bearer' },
}
const TOO_LARGE: Refusal = {
  status: 413,
  code: 'TOO_LARGE',
  what: `the message has more than ${MAX_BODY} bytes`,
  hint: 'ask for less at once: every tool answers in pages',
}

function refused(
  request: IncomingMessage,
  response: ServerResponse,
  { status, code, what, hint, headers }: Refusal,
): void {
  const error = new RecollectError(code, what, { where: request.url ?? PATH, hint })
  // As JSON-RPC has it; clients show the message and hide the data.
  const told = { code: REFUSED, message: `${what}; try: ${hint}`, data: error }
  refuse(request, response, {
    status,
    headers: { ...headers, 'content-type': 'application/json' },
    body: `${JSON.stringify({ jsonrpc: '2.0', error: told, id: null })}\n`,
  })
}

const hash = (text: string): Buffer => createHash('sha256').update(text).digest()

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  fetch: (request: Request) => Promise<Response>,
): Promise<void> {
  const body = await bodyOf(request, MAX_BODY)
  if (body === undefined) return refused(request, response, TOO_LARGE)
  const abort = new AbortController()
  response.once('close', () => abort.abort())
  const answered = await fetch(
    new Request(`http://${HOST}${request.url ?? PATH}`, {
      method: request.method ?? 'GET',
      headers: new Headers(
        Object.entries(request.headers).flatMap(([name, value]) =>
          value === undefined
            ? []
            : [[name, Array.isArray(value) ? value.join(', ') : value] as [string, string]],
        ),
      ),
      ...(request.method === 'GET' || request.method === 'HEAD' ? {} : { body }),
      signal: abort.signal,
    }),
  )
  response.writeHead(answered.status, Object.fromEntries(answered.headers))
  if (answered.body) await pipeline(Readable.fromWeb(answered.body as never), response)
  else response.end()
}
