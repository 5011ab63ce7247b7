// `recollect status`: what is remembered, what it takes, what needs attention, what to do next.
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Source } from '../src/adapters/adapter.ts'
import { ADAPTERS } from '../src/adapters/index.ts'
import type { Finding } from '../src/doctor/finding.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { cli, World } from './setup/sweeping.ts'

interface Status {
  sessions: number
  flavors: { flavor: string; sessions: number; events: number; last_at: string; read_at: string }[]
  storage: { raw: Record<string, number>; distilled: Record<string, number> }
  attention: { code: string; severity: string; message: string; fix: string }[]
  looked_in: { flavor: string; path: string; exists: boolean }[]
}
const statusOf = (world: World): Status => JSON.parse(cli(world.env, 'status', '--json').stdout) as Status

describe('the status', () => {
  it('counts sessions by flavor, measures both tiers and is the default command', async () => {
    const world = new World()
    cpSync(join(unpackAgent('claude'), 'subagent'), world.home, { recursive: true })
    cpSync(join(unpackAgent('codex'), 'qa'), world.home, { recursive: true })
    await world.sweep()
    const status = statusOf(world)
    expect(status.sessions).toBe(2)
    expect(status.flavors.map(({ flavor, sessions }) => [flavor, sessions])).toEqual([
      ['claude', 1],
      ['codex', 1],
    ])
    expect(status.storage.raw['bytes']).toBeGreaterThan(100_000)
    expect(status.storage.raw['soft_cap_bytes']).toBe(4 * 1024 ** 3)
    expect(status.storage.distilled['bytes']).toBeGreaterThan(10_000)
    expect([status.attention, status.looked_in]).toEqual([[], []])
    const { stdout, code } = cli({ ...world.env, COLUMNS: '80' })
    expect(code).toBe(0)
    expect(stdout).toBe(cli({ ...world.env, COLUMNS: '80' }, 'status').stdout)
    expect(stdout).toMatch(/^2 sessions remembered$/m)
    expect(stdout).toMatch(/^claude +1 +\d+ +\d+ \w+ ago +just now$/m)
    expect(stdout).toMatch(/^raw +[█░]{20} [\d.]+ [KM]B of 4\.3 GB \(soft cap; hard 6\.4 GB\)$/m)
    expect(stdout).toMatch(/^next: recollect sessions/m)
    expect(stdout.split('\n').every((line) => line.length <= 80)).toBe(true)
    world.remove()
  })

  it('names what needs attention, with the command to begin with', async () => {
    const world = new World()
    const directory = join(world.home, '.claude', 'projects', '-w')
    mkdirSync(directory, { recursive: true })
    writeFileSync(
      join(directory, '44444444-4444-4444-8444-444444444444.jsonl'),
      '{"type":"user","uuid":"u","timestamp":"2026-11-15T10:00:00Z","sessionId":"44444444-4444-4444-8444-444444444444","message":{"role":"user","content":"hi"}}\nnot json\n{"type":"martian"}\n',
    )
    world.configure(
      '[session_memory.retention]\nraw_soft_cap_bytes = 1\nraw_hard_cap_bytes = "1GiB"\ndistilled_cap_bytes = 1\n',
    )
    await world.sweep()
    const { attention } = statusOf(world)
    expect(attention.map((one) => one.code)).toEqual(
      expect.arrayContaining(['source.gaps', 'source.drift', 'memory.size']),
    )
    const { findings } = JSON.parse(cli(world.env, 'doctor', '--json').stdout) as { findings: Finding[] }
    for (const { code, severity, message, fix } of attention)
      expect(findings).toContainEqual(expect.objectContaining({ id: code, severity, text: message, fix }))
    expect(cli(world.env).stdout).toMatch(/▲ claude: not-json ×1, 8 B could not be understood.*\n {2}→ /)
    world.remove()
  })

  it.each(['never swept', 'swept and empty'])(
    'of a machine without sessions, %s, says where it looked',
    async (how) => {
      const world = new World()
      if (how === 'never swept') rmSync(world.memory, { recursive: true })
      else await world.sweep()
      const status = statusOf(world)
      expect(status).toMatchObject({ sessions: 0, flavors: [] })
      // A root that is itself a file of the agent, and no database, is no place to look in.
      const isPlace = (source: Source | null): boolean => !source || source.isDatabase === true
      const roots = ADAPTERS.flatMap((adapter) =>
        adapter.roots(world.env).filter((root) => isPlace(adapter.claim(root))),
      )
      expect(status.looked_in.map((place) => place.path)).toEqual(roots)
      const { stdout, code } = cli(world.env)
      expect(code).toBe(0)
      for (const { flavor } of status.looked_in) expect(stdout).toMatch(new RegExp(`\\b${flavor}\\b`))
      expect(stdout.replace(/\s+/g, ' ')).toContain(`in ${roots.length} places`)
      expect(stdout).toContain('next: recollect demo')
      cpSync(join(unpackAgent('claude'), 'qa'), world.home, { recursive: true })
      expect(cli(world.env).stdout).toMatch(/✔ claude[\s\S]*next: recollect sweep$/m)
      world.remove()
    },
  )
})
