// `rm -rf cache`: what was read before is told to be gone, wherever somebody asks for it, with what brings it back; the next
// sweep does.
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Finding } from '../src/doctor/finding.ts'
import type { Session, SessionEvent } from '../src/model.ts'
import type { RawLost } from '../src/query/lost.ts'
import { BrowserSession, describeInBrowser } from './setup/browser.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { overStdio } from './setup/mcp.ts'
import { cli, World } from './setup/sweeping.ts'

interface Shown {
  session: Session
  raw_lost: RawLost | null
  events: SessionEvent[]
}

let world: World
/** Still in its agent's directory; and deleted there after it was read. */
let kept: string
let sole: string
beforeAll(async () => {
  world = new World()
  for (const client of ['claude', 'codex'])
    cpSync(join(unpackAgent(client), 'tools'), world.home, { recursive: true })
  world.env['PATH'] = ''
  await world.sweep()
  const { sessions } = JSON.parse(cli(world.env, 'sessions', '--json').stdout) as { sessions: Session[] }
  const uidOf = (flavor: string): string =>
    sessions.find((one) => one.flavor === flavor)?.session_uid as string
  kept = uidOf('claude')
  sole = uidOf('codex')
  rmSync(shown(sole).session.source_path as string)
  await world.sweep()
  expect(shown(sole)).toMatchObject({ raw_lost: null, session: { is_sole_copy: true } })
  rmSync(join(world.memory, 'cache'), { recursive: true })
})
afterAll(() => world.remove())

const shown = (uid: string): Shown => JSON.parse(cli(world.env, 'show', uid, '--json').stdout) as Shown
const raw = (): Finding[] => {
  const { findings } = JSON.parse(cli(world.env, 'doctor', '--json').stdout) as { findings: Finding[] }
  return findings.filter((one) => one.id === 'memory.raw')
}

describe('a cache that was deleted', () => {
  it('is told by show, with what brings the events back or what is left', () => {
    expect(shown(kept)).toMatchObject({ events: [], raw_lost: { source_exists: true } })
    expect(shown(sole)).toMatchObject({ events: [], raw_lost: { source_exists: false } })
    expect(cli(world.env, 'show', kept).stdout).toMatch(
      /asked {6}.+\nanswered [\s\S]+agent's own file: recollect sweep$/m,
    )
    const gone = cli(world.env, 'show', sole).stdout
    expect(gone).toMatch(/its digest is what is left: recollect digest codex:/)
    expect(gone).not.toContain('only copy')
    const { code, stderr } = cli(world.env, 'show', `${kept}#2`)
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/deleted outside of Recollect[\s\S]+try: recollect sweep\n/),
    ])
  })

  it('is told by export, verify, status and doctor', () => {
    expect(cli(world.env, 'export', kept, '--format', 'md').stdout).toContain('deleted outside of Recollect')
    const verify = cli(world.env, 'verify')
    expect([verify.code, verify.stdout]).toEqual([
      1,
      expect.stringMatching(
        /their digests are left\n✖ raw of 1 session is not here.+recollect sweep reads it again\n/,
      ),
    ])
    expect(cli(world.env, 'status').stdout).toContain('1 session can be read again')
    expect(raw()).toMatchObject([{ severity: 'warning', fix: 'recollect sweep' }])
  })

  it('is told to agents', async () => {
    const client = await overStdio(world.env)
    expect((await client.call('session', { id: kept })).text).toContain('recollect sweep reads them again')
    expect((await client.call('session', { id: sole })).text).toContain('its digest is what is left')
    const context = await client.call('context', { id: `${kept}#2` })
    expect([context.isError, context.text]).toEqual([true, expect.stringContaining('recollect sweep reads')])
  })
})

describeInBrowser('a cache that was deleted', () => {
  it('is told by the page', async () => {
    const browser = await BrowserSession.open(world.memory)
    try {
      await browser.goto(`/s/${encodeURIComponent(kept)}`)
      const warnings = browser.page.locator('.warnings')
      await warnings.waitFor()
      expect(await warnings.textContent()).toContain('recollect sweep reads them again')
    } finally {
      await browser.close()
    }
  })
})

describe('the next sweep', () => {
  it('reads again what is still there, and tells what is not', async () => {
    const { code } = cli(world.env, 'sweep')
    expect(code).toBe(0)
    const again = shown(kept)
    expect([again.raw_lost, again.events.length > 10]).toEqual([null, true])
    expect(shown(sole)).toMatchObject({ events: [], raw_lost: { source_exists: false } })
    expect(cli(world.env, 'status').stdout).not.toContain('deleted outside')
    expect(raw()).toMatchObject([{ severity: 'info', fix: `recollect digest ${sole}` }])
    expect(cli(world.env, 'digest', sole).code).toBe(0)
  })
})
