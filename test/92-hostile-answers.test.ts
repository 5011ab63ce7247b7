// A server that answers what it likes: whoever we ask, only so much of it is taken in, nothing of it is obeyed, and nobody is
// sent on to another place with our token.
import { execFile } from 'node:child_process'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { send } from '../src/export/send.ts'
import { ask } from '../src/fleet/push/send.ts'
import { SESSION, user, write } from './setup/claude.ts'
import { type CliResult, cliPath, World } from './setup/sweeping.ts'

let server: Server
afterEach(() => new Promise((done) => server.close(done)))

async function serve(answer: RequestListener): Promise<string> {
  server = createServer((request, response) => {
    request.resume().once('end', () => answer(request, response))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('an answer without an end', () => {
  let sentBytes = 0
  const endless: RequestListener = (_, response) => {
    const part = Buffer.alloc(1 << 20, '"')
    sentBytes = 0
    response.writeHead(200, { 'content-type': 'application/json' })
    const more = (): void => {
      if (response.destroyed) return
      sentBytes += part.length
      if (response.write(part)) setImmediate(more)
      else response.once('drain', more)
    }
    more()
  }

  it('of a team server is refused', async () => {
    const answer = ask({ url: await serve(endless), token: 'rct_x', timeoutMs: 60_000 }, 'GET', '/')
    await expect(answer).rejects.toMatchObject({
      code: 'UNREACHABLE',
      message: expect.stringContaining('more than 67108864 bytes'),
    })
    expect(sentBytes).toBeLessThan(128 << 20)
  })

  it('of a collector is not read', async () => {
    expect(await send(new URL(await serve(endless)), '{}')).toBe(0)
    expect(sentBytes).toBeLessThan(32 << 20)
  })
})

it('nobody is sent on to another place', async () => {
  const asked: (string | undefined)[] = []
  const url = await serve((request, response) => {
    asked.push(request.url)
    response.writeHead(307, { location: '/elsewhere' }).end()
  })
  await expect(ask({ url, token: 'rct_x', timeoutMs: 60_000 }, 'GET', '/here')).rejects.toThrow()
  await expect(send(new URL(`${url}/v1/traces`), '{}')).rejects.toThrow()
  expect(asked).toEqual(['/here', '/v1/traces'])
})

describe('what a team server says', () => {
  const run = (env: NodeJS.ProcessEnv, ...words: string[]): Promise<Omit<CliResult, 'code'>> =>
    new Promise((done) => {
      execFile(process.execPath, [cliPath, ...words], { env }, (_, stdout, stderr) =>
        done({ stdout, stderr }),
      )
    })

  it.each([
    [
      'an error',
      400,
      { error: { code: 'X', message: '\u001b[8mbad\u009b2J', where: '', hint: '\u202e\u001b]0;x\u0007' } },
    ],
    ['another document', 200, { sessions: [{ session_uid: '\u001b[8m' }], is_more: '\u001b[8m' }],
    ['nothing', 200, null],
  ])('is not obeyed, and ends in no stack trace: %s', async (_, status, document) => {
    const world = new World()
    write(join(world.home, '.claude', 'projects', '-w', `${SESSION}.jsonl`), [user('a', null, 'hello')])
    await world.sweep()
    const url = await serve((_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(document))
    })
    const env = {
      ...world.env,
      RECOLLECT_PUSH_URL: url,
      RECOLLECT_PUSH_TOKEN: 'rct_x',
      RECOLLECT_SERVER_TOKEN: 'rct_x',
    }
    for (const words of [['push'], ['--server', 'team', 'sessions'], ['--server', 'team', 'retro']]) {
      const { stdout, stderr } = await run(env, ...words)
      expect(stderr).toContain('try: ')
      expect(stdout + stderr).not.toMatch(
        /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]|fault of recollect/,
      )
    }
  })
})
