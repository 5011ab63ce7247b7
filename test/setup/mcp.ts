// The official MCP client in front of the built program, over stdio or HTTP, of either era of the protocol.
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { onTestFinished } from 'vitest'
import { cliPath } from './sweeping.ts'

export const ERAS = {
  'the revision of 2026-07-28': { pin: '2026-07-28' },
  'the revisions before it': 'legacy',
} as const
export type Era = (typeof ERAS)[keyof typeof ERAS]

export interface Result {
  text: string
  data: Record<string, unknown>
  entries: Record<string, unknown>[]
  next: number | undefined
  isError: boolean
  /** As it came over the wire. */
  bytes: number
}

export class TestClient {
  readonly client: Client

  constructor(era: Era) {
    this.client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: era } })
  }

  async call(
    name: string,
    args: Record<string, unknown> = {},
    meta?: Record<string, unknown>,
  ): Promise<Result> {
    const result = await this.client.callTool({ name, arguments: args, ...(meta ? { _meta: meta } : {}) })
    const data = (result.structuredContent ?? {}) as Record<string, unknown>
    return {
      text: (result.content[0] as { text: string }).text,
      data,
      entries: (data['entries'] ?? []) as Record<string, unknown>[],
      next: data['next_cursor'] as number | undefined,
      isError: result.isError ?? false,
      bytes: Buffer.byteLength(JSON.stringify(result)),
    }
  }
}

/** Starts the program as an agent does; it ends with the test. */
export async function overStdio(
  env: Record<string, string>,
  { era = 'legacy' as Era, cwd = '/', args = [] as string[] } = {},
): Promise<TestClient> {
  const client = new TestClient(era)
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [cliPath, 'mcp', ...args],
    env: { PATH: process.env['PATH'] ?? '', ...env },
    cwd,
    stderr: 'ignore',
  })
  await client.client.connect(transport)
  onTestFinished(() => client.client.close())
  return client
}

export interface Listening {
  url: string
  token: string
  child: ChildProcess
}

/** Starts the program on a free port. */
export async function listening(env: Record<string, string>, ...args: string[]): Promise<Listening> {
  const child = spawn(process.execPath, [cliPath, 'mcp', 'serve', '--http', '0', ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  let url = ''
  let token = env['RECOLLECT_MCP_TOKEN'] ?? ''
  for await (const line of createInterface({ input: child.stderr })) {
    url ||= /^listening on (\S+)$/.exec(line)?.[1] ?? ''
    token ||= /^token: (\S+)$/.exec(line)?.[1] ?? ''
    if (url !== '' && token !== '') return { url, token, child }
  }
  throw new Error('the server ended before it listened')
}

export async function overHttp({ url, token }: Listening, era: Era): Promise<TestClient> {
  const client = new TestClient(era)
  const headers = { authorization: `Bearer ${token}` }
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
  await client.client.connect(transport)
  onTestFinished(() => client.client.close())
  return client
}
