// A home with sessions of several agents, for tests that stop sweeps half-way.
import { createHash } from 'node:crypto'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { unpackAgent } from './fixtures.ts'
import { temporary } from './temporary.ts'

const SCENARIOS = [
  ['claude', 'fork'],
  ['claude', 'big_unicode_secret'],
  ['claude', 'subagent_parallel'],
  ['claude-2.0', 'fork'],
  ['codex', 'subagent'],
  ['codex-0.80', 'compact_auto'],
  ['grok', 'fork'],
  ['grok', 'subagent'],
  ['grok-tui', 'rewind'],
] as const

const LONG = '99999999-9999-4999-8999-999999999999'

export function mixedHome(): string {
  const home = temporary('mixed-home')
  for (const [client, scenario] of SCENARIOS)
    cpSync(join(unpackAgent(client), scenario), home, { recursive: true })
  return home
}

/** More than one batch and one commit, and enough for a reader in a thread of its own. Returns where it stands. */
export function addLongSession(home: string): string {
  const path = join(home, '.claude', 'projects', '-home-dev-proj', `${LONG}.jsonl`)
  const lines = Array.from({ length: 9000 }, (_, at) => ({
    type: 'user',
    uuid: `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`,
    parentUuid: at === 0 ? null : `00000000-0000-4000-8000-${String(at - 1).padStart(12, '0')}`,
    sessionId: LONG,
    timestamp: new Date(1_794_000_000_000 + at * 1000).toISOString(),
    cwd: '/home/dev/proj',
    message: {
      role: 'user',
      content: `line ${at} ${createHash('sha512').update(String(at)).digest('hex').repeat(20)}`,
    },
  }))
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  return path
}
