// `recollect mcp serve`: starts the server on stdio or on a loopback port, and ends with its client or a signal.
import { Config } from '../config.ts'
import { type ServerSettings, serverFactory } from '../mcp/server.ts'
import { EXIT } from './exit.ts'
import { tell } from './print.ts'
import { streamOf } from './streams.ts'
import { parsePort } from './values.ts'

export interface ServeCommand {
  http?: string | true
  allowWrite?: boolean
}

/** The port where none is given: any free one would have to be registered anew each time. */
const PORT = 7078

export async function serveMcp(options: ServeCommand): Promise<void> {
  const config = new Config()
  const startedAt = Date.now()
  const mayWrite = options.allowWrite ?? false
  if (options.http === undefined) {
    const caller = { env: process.env, cwd: process.cwd(), startedAt }
    return await overStdio({ config, caller, mayWrite })
  }
  // Who asks over HTTP was not started by us or beside us: our own environment says nothing about it.
  await overHttp(
    { config, caller: { env: {}, startedAt }, mayWrite },
    options.http === true ? PORT : parsePort(options.http, '--http'),
  )
}

async function overStdio(settings: ServerSettings): Promise<void> {
  // The server writes to it by itself; a client that went away is the end.
  streamOf(1)
  const { serveStdio, StdioServerTransport } = await import('@modelcontextprotocol/server/stdio')
  const { BoundedLines, MAX_LINE_BYTES } = await import('../mcp/lines.ts')
  const lines = new BoundedLines((answer) => {
    process.stdout.write(`${JSON.stringify(answer)}\n`)
    report(new Error(answer.error.message))
  })
  const transport = new StdioServerTransport(process.stdin.pipe(lines), process.stdout, {
    maxBufferSize: MAX_LINE_BYTES,
  })
  serveStdio(serverFactory(settings), { transport, onerror: report })
}

async function overHttp(settings: ServerSettings, port: number): Promise<void> {
  const { serveHttp } = await import('../mcp/http.ts')
  const given = process.env['RECOLLECT_MCP_TOKEN']
  const server = await serveHttp(serverFactory(settings), port, given || undefined)
  tell(`listening on ${server.url}\n`)
  if (!given) tell(`token: ${server.token}\n`)
  const stop = (code: number) => () => {
    process.exitCode = code
    void server.close()
  }
  process.once('SIGINT', stop(EXIT.interrupted))
  process.once('SIGTERM', stop(EXIT.terminated))
}

const report = (error: Error): void => {
  tell(`mcp: ${error.message}\n`)
}
