// Random damage to the files of a memory: no command ends in a stack trace, `sweep --repair` saves what can be read, and
// `verify` is clean afterwards. Short here; `npm run test:corruption` does a hundred and prints the figures.
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Session } from '../src/model.ts'
import { segmentsOf } from './setup/damage.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { randomFrom } from './setup/growing.ts'
import { amountOf, IS_LONG, seedOf } from './setup/long.ts'
import { type CliResult, cli, copyTree, temporary, World } from './setup/sweeping.ts'

const COUNT = amountOf('CORRUPTIONS', 5, 100)
const SEED = seedOf(7)
const PAGE = 4096

const SCENARIOS = [
  ['claude', 'fork'],
  ['claude', 'tools'],
  ['codex', 'tools'],
  ['codex', 'subagent'],
  ['grok', 'subagent'],
] as const
const COMMANDS = [
  ['status'],
  ['sessions'],
  ['show', '@last'],
  ['search', 'file'],
  ['digest', '@last'],
  ['usage', 'day'],
  ['patterns'],
  ['lineage', '@last'],
  ['retro'],
  ['doctor'],
  ['verify'],
  ['export', '@last', '--format', 'md'],
  ['evict', '--dry-run'],
  ['sweep'],
]

let world: World
let whole: string
let uids: string[]

beforeAll(async () => {
  world = new World()
  for (const [client, scenario] of SCENARIOS) copyTree(join(unpackAgent(client), scenario), world.home)
  await world.sweep()
  const sessions = sessionsIn(cli(world.env, 'sessions', '--json', '--all'))
  uids = sessions.map((one) => one.session_uid).sort()
  const [first] = uids as [string]
  expect(cli(world.env, 'decide', first, 'Keep it', '--tag', 'kept').code).toBe(0)
  expect(cli(world.env, 'pin', first).code).toBe(0)
  // One of which nobody has another copy.
  const sole = sessions.find((one) => one.flavor === 'grok') as Session
  rmSync(sole.source_path as string, { recursive: true })
  await world.sweep()
  whole = join(world.base, 'whole')
  cpSync(world.memory, whole, { recursive: true })
})
afterAll(() => world.remove())

/** None where the command did not answer. */
const sessionsIn = ({ stdout }: CliResult): Session[] =>
  stdout === '' ? [] : ((JSON.parse(stdout) as { sessions?: Session[] }).sessions ?? [])

/** A memory like the one that was swept, with the same agents' files. */
function copyOf(): World {
  const copy = new World(world.home, temporary('corrupt'))
  cpSync(whole, copy.memory, { recursive: true, force: true })
  return copy
}

type Random = () => number
const DAMAGES: Record<string, (bytes: Buffer, random: Random) => Buffer> = {
  'a page of zeros': (bytes, random) => fill(bytes, pageIn(bytes, random), PAGE, () => 0),
  'a page of noise': (bytes, random) => fill(bytes, pageIn(bytes, random), PAGE, () => random() * 256),
  'flipped bytes': (bytes, random) => {
    for (let count = 1 + random() * 20; count > 0; count--) {
      const at = Math.floor(random() * bytes.length)
      bytes[at] = (bytes[at] as number) ^ (1 << Math.floor(random() * 8))
    }
    return bytes
  },
  'zeros over several pages': (bytes, random) =>
    fill(bytes, pageIn(bytes, random), PAGE * (2 + Math.floor(random() * 14)), () => 0),
  'two pages exchanged': (bytes, random) => {
    const [a, b] = [pageIn(bytes, random), pageIn(bytes, random)]
    const page = Buffer.from(bytes.subarray(a, a + PAGE))
    bytes.copy(bytes, a, b, b + PAGE)
    page.copy(bytes, b)
    return bytes
  },
  'a lost end': (bytes, random) => bytes.subarray(0, Math.floor(bytes.length * (0.2 + 0.75 * random()))),
  'a lost beginning': (bytes) => fill(bytes, 0, 100, () => 0),
  'another file': () => Buffer.from('something else altogether\n'.repeat(99)),
}

const pageIn = (bytes: Buffer, random: Random): number =>
  Math.floor(random() * Math.max(1, Math.floor(bytes.length / PAGE))) * PAGE

function fill(bytes: Buffer, from: number, length: number, value: () => number): Buffer {
  for (let at = from; at < Math.min(bytes.length, from + length); at++) bytes[at] = value()
  return bytes
}

function damage(memory: string, random: Random): string {
  const segments = segmentsOf(memory)
  const files = [
    join(memory, 'memory.db'),
    join(memory, 'memory.db'),
    join(memory, 'cache', 'cache.db'),
    join(memory, 'cache', 'cache.db'),
    segments[Math.floor(random() * segments.length)] as string,
  ]
  const path = files[Math.floor(random() * files.length)] as string
  const names = Object.keys(DAMAGES)
  const name = names[Math.floor(random() * names.length)] as string
  writeFileSync(path, (DAMAGES[name] as (typeof DAMAGES)[string])(readFileSync(path), random))
  return `${name} in ${basename(path).replace(/^[0-9a-f]{40}/, 'a segment')}`
}

/** A stack trace, a crash, or a fault that is not foreseen. */
const isFault = ({ code, stdout, stderr }: CliResult): boolean =>
  code === null || /fault of recollect|^\s+at .+:\d+:\d+\)?$/m.test(stderr + stdout)

describe(`${COUNT} random corruptions (seed ${SEED})`, () => {
  it('end in no stack trace, and are mended', () => {
    const random = randomFrom(SEED)
    const faults: string[] = []
    const unmended: string[] = []
    const missing: string[] = []
    for (let count = 1; count <= COUNT; count++) {
      const copy = copyOf()
      const what = `${count}: ${damage(copy.memory, random)}`
      // With few corruptions each command meets some of them.
      for (const command of COMMANDS.filter((_, at) => IS_LONG || at % 3 === count % 3)) {
        // A damaged memory may not keep a command from ending.
        const result = cli(copy.env, ...command)
        if (isFault(result)) faults.push(`${what}: ${command.join(' ')}: ${result.stderr.slice(0, 400)}`)
      }
      const repair = cli(copy.env, 'sweep', '--repair')
      if (isFault(repair) || ![0, 4].includes(repair.code))
        faults.push(`${what}: sweep --repair: ${repair.code} ${repair.stderr.slice(0, 400)}`)
      const verify = cli(copy.env, 'verify')
      if (verify.code !== 0) unmended.push(`${what}: ${verify.stdout}${verify.stderr}`)
      const again = sessionsIn(cli(copy.env, 'sessions', '--json', '--all'))
      const lost = uids.filter(
        (uid) => !uid.startsWith('grok:') && !again.some((one) => one.session_uid === uid),
      )
      if (lost.length > 0) missing.push(`${what}: ${lost.join(', ')}`)
      copy.remove()
    }
    if (COUNT > 5)
      console.log(
        `${COUNT} corruptions, seed ${SEED}: ${faults.length} faults, ${unmended.length} not clean, ${missing.length} with sessions missing\n${[...faults, ...unmended, ...missing].join('\n')}`,
      )
    expect(faults).toEqual([])
    expect(missing).toEqual([])
    expect(unmended.length, unmended.join('\n')).toBeLessThanOrEqual(COUNT / 100)
  })
})
