// What every adapter has to do, whatever its agent writes: tried on sessions that the real client left, on all of the broken
// files we have, and on rubbish. Golden: what was found of what the scripted model really said (expected.json).
import { hash } from 'node:crypto'
import {
  appendFileSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Adapter, AnyAdapter, Item, Position, Source } from '../../src/adapters/adapter.ts'
import { withReader } from '../../src/sweep/tasks.ts'
import { filesBelow } from '../setup/collect.ts'
import { agentArchive, unpackAgent } from '../setup/fixtures.ts'
import { randomFrom } from '../setup/growing.ts'
import { IS_LONG } from '../setup/long.ts'
import { temporary } from '../setup/temporary.ts'
import { brokenContents } from './broken.ts'
import { type Expected, type GoldenOptions, missing } from './golden.ts'
import { outcome } from './outcome.ts'

export interface Subject extends GoldenOptions {
  adapter: AnyAdapter
  /** The packed clients whose sessions it reads. */
  clients?: readonly string[]
  /** Makes a home where no client left one. */
  make?: (home: string) => void | Promise<void>
  /** Scenarios whose sources are tried to pieces, where not the first three. */
  scenarios?: readonly string[]
  /** What a client itself did not write down: `<client>/<scenario>` → difference → why. One that does not occur fails too. */
  lost?: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Where another test compares with what was said, more closely than this one can. */
  hasOwnGolden?: boolean
  /** The most a cursor may hold, in bytes of JSON. */
  maxState?: number
}

const MAX_STATE = 128 << 10
/** Sources of which every property is tried. */
const MAX_SOURCES = IS_LONG ? 6 : 2
const STOPS = IS_LONG ? 8 : 4
/** A hundred, or as many as make some megabytes: a list of what was read would be larger than what may be carried. */
const roundsOf = (text: string): number =>
  IS_LONG ? 100 : Math.max(10, Math.min(100, Math.ceil((4 << 20) / text.length)))
/** Larger broken files are swept by another test, and by this one in the long run. */
const LARGE = 100 << 10
const CUTS = IS_LONG ? 24 : 8

export function adapterContract(subject: Subject): void {
  const { clients = [] } = subject
  const here = clients.filter((client) => agentArchive(client) !== undefined)
  it.skipIf(here.length === clients.length)('sessions that are not here are left out', () => {
    expect(clients.filter((client) => agentArchive(client) === undefined)).not.toEqual([])
  })
  if (here.length === 0 && !subject.make) return
  describe.each(subject.make ? ['made'] : here)('%s', (client) => {
    let adapter: Adapter
    let home: string
    beforeAll(async () => {
      adapter = await withReader(subject.adapter)
      home = subject.make ? temporary('contract') : unpackAgent(client)
      await subject.make?.(home)
    })
    const trial = (): Trial => new Trial(adapter, home, subject)
    properties(trial, subject)
    if (!subject.hasOwnGolden && !subject.make)
      golden(
        () => adapter,
        () => home,
        client,
        subject,
      )
  })
}

function properties(trial: () => Trial, { maxState = MAX_STATE }: Subject): void {
  it('reads the same again, with keys that are stable, and leaves its sources as they are', () => {
    const { adapter, home, sources } = trial()
    const before = fingerprint(home)
    expect(sources.length).toBeGreaterThan(0)
    for (const source of sources) {
      const first = plain(readAll(adapter, source))
      expect(plain(readAll(adapter, source))).toEqual(first)
    }
    expect(fingerprint(home)).toEqual(before)
  })

  it('stopped at any position and gone on with, tells what it tells at once', () => {
    const { adapter, some } = trial()
    for (const source of some) {
      const whole = readAll(adapter, source)
      const stops = [...whole.entries()].filter(([, item]) => item.type === 'position').map(([at]) => at)
      for (const at of spread(stops, STOPS)) {
        const { position } = whole[at] as Extract<Item, { type: 'position' }>
        const rest = readAll(adapter, source, position)
        expect(outcome([...whole.slice(0, at), ...rest]), `stopped at ${at}`).toEqual(outcome(whole))
      }
    }
  })

  it('read while it grows, tells what it tells at once', () => {
    const { adapter, some, copyOf } = trial()
    for (const source of some) {
      const bytes = readFileSync(source.path)
      const copy = copyOf(source)
      const whole = outcome(readAll(adapter, copy))
      const ends = [0.2, 0.45, 0.83].map((part) => Math.floor(part * bytes.length))
      const items: Item[] = []
      let position: Position | null = null
      let written = 0
      writeFileSync(copy.path, '')
      for (const end of [...ends, bytes.length]) {
        appendFileSync(copy.path, bytes.subarray(written, end))
        written = end
        for (const item of readAll(adapter, copy, position)) {
          if (item.type === 'position') position = item.position
          // A document of which a part is there is no document yet; a sweep forgets that it was not.
          const isPartial = item.type === 'gap' && item.offset === 0 && item.length === end
          if (!isPartial || end === bytes.length) items.push(item)
        }
      }
      expect(outcome(items)).toEqual(whole)
    }
  })

  it('cut off anywhere, tells what is there and names the rest', () => {
    const { adapter, some, copyOf } = trial()
    for (const source of some) {
      const bytes = readFileSync(source.path)
      const copy = copyOf(source)
      const random = randomFrom(bytes.length)
      const cuts =
        bytes.length < CUTS
          ? [...bytes.keys()]
          : Array.from({ length: CUTS }, () => Math.floor(random() * bytes.length))
      for (const cut of cuts) {
        writeFileSync(copy.path, bytes.subarray(0, cut))
        expectSound(adapter, copy, maxState)
      }
    }
  })

  it('takes rubbish for gaps', () => {
    const { adapter, some, copyOf } = trial()
    for (const source of some.slice(0, IS_LONG ? 2 : 1)) {
      const bytes = readFileSync(source.path)
      const copy = copyOf(source)
      for (const rubbish of [...RUBBISH, ...mutations(bytes)]) {
        writeFileSync(copy.path, rubbish)
        expectSound(adapter, copy, maxState)
      }
    }
  })

  it('takes every broken file there is', async () => {
    const { adapter, some, copyOf } = trial()
    const copy = copyOf(some[0] as Source)
    const contents = (await brokenContents()).filter(({ length }) => IS_LONG || length < LARGE)
    expect(contents.length).toBeGreaterThan(20)
    for (const bytes of contents) {
      writeFileSync(copy.path, bytes)
      expectSound(adapter, copy, maxState)
    }
  })

  it('carries no more after many times as many records', () => {
    const { adapter, some, copyOf } = trial()
    for (const source of some.slice(0, IS_LONG ? 2 : 1)) {
      const text = readFileSync(source.path, 'utf8')
      if (!text.startsWith('{"') || (!IS_LONG && text.length > LARGE)) continue
      const copy = copyOf(source)
      // Other ids in every round: digits that name things are shifted.
      const rounds = Array.from({ length: roundsOf(text) }, (_, round) =>
        text.replace(/[0-9a-f]{12}(?=")/g, (id) => id.slice(0, 8) + String(round).padStart(4, '0')),
      )
      writeFileSync(copy.path, rounds.join(text.endsWith('\n') ? '' : '\n'))
      expectSound(adapter, copy, maxState)
    }
  })
}

function golden(
  adapter: () => Adapter,
  home: () => string,
  client: string,
  { lost = {}, ...options }: Subject,
): void {
  it('finds what was asked, answered, called and counted', () => {
    const found: Record<string, Record<string, string>> = {}
    for (const scenario of readdirSync(home()).sort()) {
      const directory = join(home(), scenario)
      const expected = JSON.parse(readFileSync(join(directory, 'expected.json'), 'utf8')) as Expected
      const items = sourcesIn(adapter(), directory).flatMap((source) => readAll(adapter(), source))
      const name = `${client}/${scenario}`
      const differences = missing(expected, items, options)
      if (differences.length > 0)
        found[name] = Object.fromEntries(differences.map((one) => [one, lost[name]?.[one] ?? 'why?']))
    }
    const own = Object.fromEntries(Object.entries(lost).filter(([name]) => dirname(name) === client))
    expect(found).toEqual(own)
  })
}

/** Sources of a home, and copies of them that may be spoiled. */
class Trial {
  readonly adapter: Adapter
  readonly home: string
  readonly sources: Source[]
  readonly some: Source[]

  constructor(adapter: Adapter, home: string, { make, scenarios }: Subject) {
    this.adapter = adapter
    this.home = home
    this.sources = sourcesIn(adapter, home)
    const chosen = make ? undefined : (scenarios ?? spread(readdirSync(home).sort(), 3))
    const isChosen = (path: string): boolean =>
      chosen?.some((name) => path.startsWith(`${join(home, name)}${sep}`)) ?? true
    this.some = spread(
      this.sources.filter(({ path }) => isChosen(path)),
      MAX_SOURCES,
    )
    if (this.some.length === 0) throw new Error('nothing that is left here is claimed')
  }

  /** The whole home is copied: companions and neighbours matter. */
  copyOf = ({ path }: Source): Source => {
    const top = join(this.home, relative(this.home, path).split('/')[0] as string)
    const copy = join(temporary('contract'), relative(dirname(top), top))
    cpSync(top, copy, { recursive: true, preserveTimestamps: true })
    const at = join(copy, relative(top, path))
    mkdirSync(dirname(at), { recursive: true })
    return this.adapter.claim(at, true) as Source
  }
}

const sourcesIn = (adapter: Adapter, directory: string): Source[] =>
  filesBelow(directory).flatMap((path) => adapter.claim(path, true) ?? [])

/** At most so many, from all over the list. */
function spread<T>(all: readonly T[], count: number): T[] {
  if (all.length <= count) return [...all]
  return Array.from({ length: count }, (_, at) => all[Math.floor((at * all.length) / count)] as T)
}

/** As a sweep would: a position is what a cursor keeps of it. */
function readAll(adapter: Adapter, source: Source, from: Position | null = null): Item[] {
  const items: Item[] = []
  for (const item of adapter.read(source, from && (JSON.parse(JSON.stringify(from)) as Position)))
    items.push(item.type === 'position' ? (JSON.parse(JSON.stringify(item)) as Item) : item)
  return items
}

const plain = (items: Item[]): unknown => JSON.parse(JSON.stringify(items))

/** Reads to the end whatever the file holds; looks at items one by one, since there may be a million. */
function expectSound(adapter: Adapter, source: Source, maxState: number): void {
  let position: Position | undefined
  const odd: Item[] = []
  for (const item of adapter.read(source, null)) {
    if (item.type === 'position') position = item.position
    else if (isOdd(item)) odd.push(item)
  }
  expect(odd).toEqual([])
  expect(JSON.stringify(position ?? '').length).toBeLessThan(maxState)
}

const isOdd = (item: Item): boolean =>
  item.type === 'gap'
    ? !/^[a-z-]+$/.test(item.reason) || !(item.offset >= 0 && item.length >= 0)
    : item.type === 'event' && (typeof item.key !== 'string' || typeof item.session !== 'string')

function fingerprint(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const path = join(directory, name)
      const stats = lstatSync(path, { bigint: true })
      const content = stats.isFile() ? hash('sha1', readFileSync(path), 'hex') : ''
      return `${name} ${stats.size} ${stats.mtimeNs} ${content}`
    })
}

const noise = (): Buffer => {
  const random = randomFrom(7)
  return Buffer.from(Array.from({ length: 5000 }, () => Math.floor(random() * 256)))
}

const RUBBISH: readonly (string | Buffer)[] = [
  '',
  '\n\n\n',
  'null',
  '[]',
  '{}',
  '{}\n{}\n',
  '"text"\n1\ntrue\n[1]\n',
  '{"type":',
  '<!doctype html>\n<p>404\n',
  `${'['.repeat(5000)}${']'.repeat(5000)}`,
  `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}\n`,
  Buffer.alloc(4096),
  noise(),
  Buffer.concat([Buffer.from('SQLite format 3\0'), noise()]),
  Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), noise()]),
  Buffer.concat([Buffer.from([0x1f, 0x8b]), noise()]),
]

const ODD = [null, 0, -1, 1e308, '', 'x', true, [], [[]], {}, [null, 1, 'x', {}], { type: null }]

/** The first records with each of their values, at any depth, in turn something else. */
function* mutations(bytes: Buffer): Generator<string> {
  for (const line of bytes.toString('utf8').split('\n').slice(0, 6)) {
    let record: unknown
    try {
      record = JSON.parse(line)
    } catch {
      continue
    }
    for (const [at, path] of spread(pathsIn(record), IS_LONG ? 40 : 20).entries())
      for (const odd of [ODD[at % ODD.length], ODD[(at + 5) % ODD.length]])
        yield `${JSON.stringify(replaced(record, path, odd))}\n`
  }
}

function pathsIn(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([name, one]) => pathsIn(one, [...path, name]))]
}

function replaced(value: unknown, [name, ...rest]: string[], by: unknown): unknown {
  if (name === undefined) return by
  const copy = structuredClone(value) as Record<string, unknown>
  copy[name] = replaced(copy[name], rest, by)
  return copy
}
