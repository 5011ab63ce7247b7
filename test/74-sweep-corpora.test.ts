// Real sessions of strangers: nothing crashes, every line ends as an event or a named gap, sweeping again changes nothing,
// and growing in steps gives the same rows. Their text is never printed: names, hashes and counts only. `npm run test:corpora`.
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Adapter } from '../src/adapters/adapter.ts'
import { ADAPTERS } from '../src/adapters/index.ts'
import { withReader } from '../src/sweep/tasks.ts'
import { filesBelow } from './setup/collect.ts'
import { CORPORA } from './setup/corpora.ts'
import { differences } from './setup/dump.ts'
import { growingTree, randomFrom } from './setup/growing.ts'
import { temporary, World } from './setup/sweeping.ts'

const STEPS = 20

/** Where an agent would have put the file. */
const LAYOUT: Record<string, (name: string, group: number, path: string) => string> = {
  claude: (name, group) => join('.claude', 'projects', `-group-${group}`, name),
  codex: (name) => join('.codex', 'sessions', '2026', '01', '01', name),
  // Checkpoints are told apart by where they lie, and each has its notes beside it.
  entire: (_, __, path) => path,
}

/** Repeated in the format's other vocabulary or unchanged since the last time: kept once, where it stands first. */
const QUIET: Record<string, RegExp> = {
  claude: /^ai-title\//,
  entire:
    /^(?:custom-title\/|event_msg\/(?:token_count|user_message)|response_item\/message|turn_context\/)$/,
  codex:
    /^(?:event_msg\/(?:token_count|user_message)|response_item\/(?:reasoning|message)|turn_context\/|\/state)$/,
}

/** A format without a home of its own is looked for where we are told to. */
function worldOf(home?: string): World {
  const world = new World(home)
  world.configure(`[sources.entire]\nroots = [${JSON.stringify(join(world.home, 'entire'))}]\n`)
  return world
}

/** What depends on which of several files came first. */
const LOOSE: Record<string, object> = { entire: { seq: null, parent: null } }

/** Copies of a tree's directories, one after another. */
function arrivingTree(from: string, to: string) {
  const directories = [...new Set(filesBelow(from).map((path) => dirname(path)))].sort().reverse()
  const count = directories.length
  return {
    grow(share: number): void {
      while (directories.length > count * (1 - share)) {
        const directory = directories.pop() as string
        for (const name of readdirSync(directory).filter((one) => statSync(join(directory, one)).isFile())) {
          mkdirSync(join(to, relative(from, directory)), { recursive: true })
          copyFileSync(join(directory, name), join(to, relative(from, directory), name))
        }
      }
    },
  }
}

/** What kind of record a line holds; never what it says. */
function recordName(line: string): string {
  const record = JSON.parse(line) as { type?: string; record_type?: string; payload?: { type?: string } }
  return `${record.type ?? ''}/${record.payload?.type ?? record.record_type ?? ''}`
}

function homeOf(flavor: string, adapter: Adapter): string {
  const raw = temporary('corpus')
  execFileSync('tar', ['-xzf', join(CORPORA as string, `${flavor}.tar.gz`), '-C', raw])
  const home = temporary('corpus-home')
  const groups: string[] = []
  for (const file of filesBelow(raw)) {
    if (!groups.includes(dirname(file))) groups.push(dirname(file))
    const path = join(
      home,
      LAYOUT[flavor]?.(basename(file), groups.indexOf(dirname(file)), relative(raw, file)) ?? '',
    )
    if ((flavor !== 'entire' && adapter.claim(path) === null) || existsSync(path)) continue
    mkdirSync(dirname(path), { recursive: true })
    copyFileSync(file, path)
  }
  return home
}

const present = CORPORA === undefined ? [] : readdirSync(CORPORA)
const subjects = await Promise.all(
  ADAPTERS.filter((one) => LAYOUT[one.flavor] && present.includes(`${one.flavor}.tar.gz`)).map(withReader),
)

it.skipIf(CORPORA === undefined)('every corpus is read (npm run test:corpora, where they lie)', () => {
  expect(subjects.map((adapter) => `${adapter.flavor}.tar.gz`).sort()).toEqual(
    present.filter((name) => name.endsWith('.tar.gz')).sort(),
  )
})

describe.each(subjects.map((adapter) => [adapter.flavor, adapter] as const))('%s', (flavor, adapter) => {
  let home: string
  let sources: string[]
  beforeAll(() => {
    home = homeOf(flavor, adapter)
    sources = filesBelow(home).filter((path) => adapter.claim(path))
    expect(sources.length).toBeGreaterThan(5)
  })

  it('every line ends as an event or a named gap, or is one of those that say nothing new', () => {
    const silent: Record<string, number> = {}
    for (const path of sources) {
      const source = adapter.claim(path)
      const bytes = readFileSync(path)
      let isSilent = true
      let done = 0
      for (const item of source ? adapter.read(source, null) : []) {
        if (item.type === 'event' || item.type === 'gap') isSilent = false
        if (item.type !== 'position') continue
        const name = isSilent ? recordName(bytes.toString('utf8', done, item.position.offset)) : ''
        if (isSilent && !QUIET[flavor]?.test(name)) silent[name] = (silent[name] ?? 0) + 1
        done = item.position.offset
        isSilent = true
      }
    }
    expect(silent).toEqual({})
  })

  it('every byte is understood or in a gap, and a second sweep changes nothing', async () => {
    const world = worldOf(home)
    const report = await world.sweep()
    expect(report.problems).toEqual([])
    const dump = world.dump()
    expect(dump.sources.length).toBe(sources.length)
    for (const { path, offset, size } of dump.sources as { path: string; offset: number; size: number }[]) {
      const pending = dump.gaps.filter((gap) => gap['path'] === path && (gap['offset'] as number) >= offset)
      const end = Math.max(
        offset,
        ...pending.map((gap) => (gap['offset'] as number) + (gap['length'] as number)),
      )
      expect(size - end, basename(path)).toBeLessThanOrEqual(2)
    }
    expect(world.verify().problems).toEqual([])
    const again = await world.sweep()
    expect(again).toMatchObject({ newEventCount: 0, changedEventCount: 0, readBytes: 0 })
    expect(differences(world.dump(), dump)).toEqual([])
    await world.sweep({ full: true })
    expect(differences(world.dump(), dump)).toEqual([])
    world.remove()
  })

  it('growing in steps gives the same as one sweep', async () => {
    const whole = worldOf()
    growingTree(home, whole.home, () => 0).grow(1)
    await whole.sweep()
    const grown = worldOf()
    // A checkpoint is written once and whole; transcripts grow.
    const tree =
      flavor === 'entire' ? arrivingTree(home, grown.home) : growingTree(home, grown.home, randomFrom(11))
    for (let step = 1; step <= STEPS; step++) {
      await grown.sweep()
      tree.grow(step / STEPS)
    }
    await grown.sweep()
    const [found, wanted] = [grown.dump(), whole.dump()]
    const several = new Set<unknown>()
    const seen = new Set<unknown>()
    for (const { session_uid: uid } of wanted.sources) (seen.has(uid) ? several : seen).add(uid)
    for (const dump of [found, wanted])
      for (const [uid, rows] of Object.entries(dump.events))
        if (several.has(uid))
          for (const row of Object.values(rows)) Object.assign(row, LOOSE[flavor] ?? { seq: null })
    expect(differences(found, wanted)).toEqual([])
    expect(grown.verify().problems).toEqual([])
  })
})
