// Disks that are full, broken, read-only or changed under us; locks of the suspended and the dead. Each fault is the
// kernel's own (mounts, limits, strace injection), and after each: nothing acknowledged lost, and the way back works.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { RecollectError } from '../src/errors.ts'
import { type TranscriptEntry, TranscriptWriter } from '../src/record/turns.ts'
import { driver, expectIntact, startLoop, temporaryDirectory, testNeeding } from './support/programs.ts'

const program = (name: string) => fileURLToPath(new URL(`programs/${name}.mjs`, import.meta.url))
const turn = (i: number, bytes = 100): TranscriptEntry => ({
  turnId: `${i}`,
  role: 'user',
  content: 'x'.repeat(bytes),
  ts: i,
})

const STRACE = ['strace', '-f', '-qq', '-o']

interface Outcome {
  acknowledged?: number
  code?: string
  message?: string
  hint?: string
}

/** Runs append-try, perhaps under strace or prlimit, and gives its outcomes. */
function tryAppends(args: Record<string, unknown>, under: string[] = []): Outcome[] {
  const command = [
    ...under,
    process.execPath,
    program('append-try'),
    JSON.stringify({ writer: 'w', ...args }),
  ]
  const { stdout, stderr } = spawnSync(command[0] as string, command.slice(1), { encoding: 'utf8' })
  expect(stderr).toBe('')
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Outcome)
}

const acknowledgedOf = (outcomes: Outcome[]) => outcomes.flatMap((outcome) => outcome.acknowledged ?? [])
const logOf = (directory: string) => join(directory, 'agents', 'agent', 'sessions', 'session.jsonl')

function mountTmpfs(options: string): string {
  const directory = temporaryDirectory()
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', directory])
  onTestFinished(() => void execFileSync('umount', ['-l', directory]))
  return directory
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => undefined,
    (reason) => reason,
  )
  if (error === undefined) return 'ok'
  expect(error).toBeInstanceOf(RecollectError)
  expect(error.hint, 'every one of these has a hint').toBeTruthy()
  return error.code
}

testNeeding(
  ['root', 'mount'],
  'a full disk: short writes are taken back, and freed space is used again',
  async () => {
    const directory = mountTmpfs('size=512k')
    const writer = new TranscriptWriter(directory, { flush: 'fdatasync' })
    const ballast = join(directory, 'ballast')
    writeFileSync(ballast, Buffer.alloc(64 << 10))
    const acknowledged: string[] = []
    let fullCount = 0
    for (let i = 0; i < 60; i++) {
      // Not a multiple of a page: the kernel takes a part, says how much, and gives no error.
      const code = await codeOf(writer.append('a', 's', turn(i, 9011)))
      if (code === 'ok') acknowledged.push(`${i}`)
      else {
        expect(code).toBe('DISK_FULL')
        fullCount++
        expect(readFileSync(writer.resolvePath('a', 's')).at(-1), 'no torn line stays').toBe(10)
      }
    }
    expect(fullCount).toBeGreaterThan(5)
    expect(statfsSync(directory).bavail).toBeGreaterThan(0)
    rmSync(ballast)
    await writer.append('a', 's', turn(100))
    await writer.close()
    const gaps: unknown[] = []
    const found = await writer.read('a', 's', { onGap: (gap) => gaps.push(gap) })
    expect(found.map((entry) => entry.turnId)).toEqual([...acknowledged, '100'])
    expect(gaps).toEqual([])
  },
)

testNeeding(
  ['root', 'mount'],
  'no inode left: a new session is refused as a full disk, the open one goes on',
  async () => {
    const directory = mountTmpfs('size=1m,nr_inodes=6')
    const writer = new TranscriptWriter(directory)
    await writer.append('a', 's', turn(1))
    writeFileSync(join(directory, 'last'), '')
    expect(await codeOf(writer.append('a', 't', turn(1)))).toBe('DISK_FULL')
    await writer.append('a', 's', turn(2))
    rmSync(join(directory, 'last'))
    await writer.append('a', 't', turn(3))
    await writer.close()
    expect(await writer.read('a', 's')).toHaveLength(2)
    expect(await writer.read('a', 't')).toHaveLength(1)
  },
)

testNeeding(['root', 'mount'], 'a disk turned read-only, and back', async () => {
  const directory = mountTmpfs('size=1m')
  const writer = new TranscriptWriter(directory)
  await writer.append('a', 's', turn(1))
  await writer.close()
  execFileSync('mount', ['-o', 'remount,ro', directory])
  expect(await codeOf(writer.append('a', 's', turn(2)))).toBe('NOT_WRITABLE')
  expect(await codeOf(writer.append('a', 'new', turn(2)))).toBe('NOT_WRITABLE')
  expect(await writer.read('a', 's')).toHaveLength(1)
  execFileSync('mount', ['-o', 'remount,rw', directory])
  await writer.append('a', 's', turn(3))
  await writer.close()
  expect((await writer.read('a', 's')).map((entry) => entry.turnId)).toEqual(['1', '3'])
})

testNeeding(['root', 'setpriv'], 'a directory we may not write to', async () => {
  const directory = temporaryDirectory()
  const asNobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
  chmodSync(directory, 0o555)
  const [refused] = tryAppends({ directory, count: 1 }, asNobody)
  expect(refused).toMatchObject({ code: 'NOT_WRITABLE', hint: expect.stringContaining('permissions') })
  chmodSync(directory, 0o777)
  expect(acknowledgedOf(tryAppends({ directory, count: 2 }, asNobody))).toEqual([0, 1])
  // Not even allowed to look inside.
  chmodSync(directory, 0o700)
  expect(tryAppends({ directory, count: 1, from: 2 }, asNobody)).toMatchObject([{ code: 'NOT_WRITABLE' }])
  await expectIntact('turns', directory, new Map([['w', [0, 1]]]))
})

testNeeding(['prlimit'], 'the limit on file size: a clear error, nothing torn', async () => {
  const directory = temporaryDirectory()
  const outcomes = tryAppends({ directory, count: 10, bytes: 9000 }, ['prlimit', '--fsize=50000'])
  expect(acknowledgedOf(outcomes)).toEqual([0, 1, 2, 3, 4])
  expect(outcomes.at(-1)).toMatchObject({
    code: 'TOO_LARGE',
    message: expect.stringContaining('nothing was kept'),
  })
  expect(readFileSync(logOf(directory)).at(-1)).toBe(10)
  expect(acknowledgedOf(tryAppends({ directory, count: 1, from: 10 }))).toEqual([10])
  expect(await expectIntact('turns', directory, new Map([['w', [0, 1, 2, 3, 4, 10]]]))).toMatchObject({
    gapCount: 0,
  })
})

testNeeding(
  ['prlimit', 'strace'],
  'a short write that cannot be taken back: told, named by readers, healed',
  async () => {
    const directory = temporaryDirectory()
    const under = [...STRACE, '/dev/null', '-e', 'inject=ftruncate:error=EIO', 'prlimit', '--fsize=50000']
    const outcomes = tryAppends({ directory, count: 6, bytes: 9000 }, under)
    expect(outcomes.at(-1)).toMatchObject({
      code: 'TOO_LARGE',
      message: expect.stringContaining('torn line stays'),
    })
    expect(readFileSync(logOf(directory)).at(-1)).not.toBe(10)
    expect(acknowledgedOf(tryAppends({ directory, count: 1, from: 10 }))).toEqual([10])
    expect(await expectIntact('turns', directory, new Map([['w', [0, 1, 2, 3, 4, 10]]]))).toMatchObject({
      gapCount: 1,
    })
  },
)

testNeeding(
  ['strace'],
  'an input or output error in the write is told, and the next append works',
  async () => {
    const directory = temporaryDirectory()
    tryAppends({ directory, count: 1 })
    const under = [...STRACE, '/dev/null', '-P', logOf(directory), '-e', 'inject=write:error=EIO:when=2']
    const outcomes = tryAppends({ directory, from: 1, count: 3 }, under)
    expect(outcomes).toMatchObject([
      { acknowledged: 1 },
      { code: 'IO', hint: expect.any(String) },
      { acknowledged: 3 },
    ])
    expect(await expectIntact('turns', directory, new Map([['w', [0, 1, 3]]]))).toMatchObject({ gapCount: 0 })
  },
)

testNeeding(
  ['strace'],
  'a failed flush is never tried again: the writer refuses, a new one goes on',
  async () => {
    const directory = temporaryDirectory()
    const trace = join(directory, 'trace')
    const under = [
      ...STRACE,
      trace,
      '-e',
      'trace=fdatasync,fsync,write',
      '-P',
      logOf(directory),
      '-e',
      'inject=fdatasync:error=EIO:when=3',
    ]
    const outcomes = tryAppends({ directory, count: 6, flush: 'fdatasync' }, under)
    expect(acknowledgedOf(outcomes)).toEqual([0, 1])
    for (const outcome of outcomes.slice(2))
      expect(outcome).toMatchObject({ code: 'FLUSH_FAILED', hint: expect.any(String) })
    const calls = readFileSync(trace, 'utf8')
    expect(calls.match(/fdatasync\(/g)).toHaveLength(3)
    expect(calls.match(/write\(/g)).toHaveLength(3)
    expect(acknowledgedOf(tryAppends({ directory, from: 10, count: 1, flush: 'fdatasync' }))).toEqual([10])
    await expectIntact('turns', directory, new Map([['w', [0, 1, 10]]]))
  },
)

testNeeding(['strace'], 'a directory that cannot be flushed counts as a failed flush', async () => {
  for (const exists of [false, true]) {
    const directory = temporaryDirectory()
    if (exists) mkdirSync(join(directory, 'agents', 'agent', 'sessions'), { recursive: true })
    const trace = join(directory, 'trace')
    const inject = ['-e', 'trace=fsync', '-e', 'inject=fsync:error=EIO:when=1']
    const outcomes = tryAppends({ directory, count: 3, flush: 'fdatasync' }, [...STRACE, trace, ...inject])
    expect(outcomes.map((outcome) => outcome.code)).toEqual(Array(3).fill('FLUSH_FAILED'))
    expect(readFileSync(trace, 'utf8').match(/fsync\(/g)).toHaveLength(1)
  }
})

test('a deleted directory is told once, then made anew', async () => {
  const directory = temporaryDirectory()
  const writer = new TranscriptWriter(directory)
  await writer.append('a', 's', turn(1))
  rmSync(join(directory, 'agents'), { recursive: true })
  expect(await codeOf(writer.append('a', 's', turn(2)))).toBe('GONE')
  expect(existsSync(join(directory, 'agents'))).toBe(false)
  await writer.append('a', 's', turn(3))
  await writer.close()
  expect((await writer.read('a', 's')).map((entry) => entry.turnId)).toEqual(['3'])
  expect(statSync(writer.resolvePath('a', 's')).mode & 0o777).toBe(0o600)
})

test('a replaced file is told once with nothing written; both files keep what they had', async () => {
  const directory = temporaryDirectory()
  const writer = new TranscriptWriter(directory)
  await writer.append('a', 's', turn(1))
  const path = writer.resolvePath('a', 's')
  renameSync(path, `${path}.old`)
  writeFileSync(path, `${JSON.stringify(turn(50))}\n`)
  expect(await codeOf(writer.append('a', 's', turn(2)))).toBe('REPLACED')
  await writer.append('a', 's', turn(3))
  await writer.close()
  expect((await writer.read('a', 's')).map((entry) => entry.turnId)).toEqual(['50', '3'])
  expect(readFileSync(`${path}.old`, 'utf8')).toBe(`${JSON.stringify(turn(1))}\n`)
})

test('a clock that steps back changes neither the order of records nor the wait for a lock', async () => {
  const directory = temporaryDirectory()
  const writer = new TranscriptWriter(directory, { lockTimeoutMs: 300 })
  for (const ts of [3, 2, 1]) await writer.append('a', 's', turn(ts))
  await writer.close()
  const { holder } = await holdLock(writer.resolvePath('a', 's'))
  vi.useFakeTimers({ toFake: ['Date'] })
  try {
    const waiting = codeOf(writer.append('a', 's', turn(0)))
    vi.setSystemTime(Date.now() - 400 * 86_400_000)
    expect(await waiting).toBe('LOCK_BUSY')
  } finally {
    vi.useRealTimers()
  }
  await endHolder(holder)
  await writer.append('a', 's', turn(0))
  await writer.close()
  expect((await writer.read('a', 's')).map((entry) => entry.ts)).toEqual([3, 2, 1, 0])
})

async function holdLock(path: string): Promise<{ holder: ChildProcess }> {
  const holder = spawn(process.execPath, [program('hold-lock'), path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void holder.kill('SIGKILL'))
  const said = await new Promise((resolve) => holder.stdout?.setEncoding('utf8').once('data', resolve))
  expect(said).toBe('held\n')
  return { holder }
}

async function endHolder(holder: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => holder.once('exit', resolve))
  holder.kill('SIGKILL')
  await ended
}

test('a suspended holder keeps the lock; a killed one has lost it before anybody waits', async () => {
  const directory = temporaryDirectory()
  const patient = new TranscriptWriter(directory, { lockTimeoutMs: 200 })
  await patient.append('a', 's', turn(1))
  const path = patient.resolvePath('a', 's')
  const { holder } = await holdLock(path)
  holder.kill('SIGSTOP')
  const size = statSync(path).size
  expect(await codeOf(patient.append('a', 's', turn(2)))).toBe('LOCK_BUSY')
  expect(statSync(path).size).toBe(size)
  await endHolder(holder)
  // No waiting allowed at all: the kernel freed the lock with the process.
  const impatient = new TranscriptWriter(directory, { lockTimeoutMs: 0 })
  await impatient.append('a', 's', turn(3))
  await patient.append('a', 's', turn(4))
  expect((await patient.read('a', 's')).map((entry) => entry.turnId)).toEqual(['1', '3', '4'])
  await impatient.close()
  await patient.close()
})

test('a writer suspended at any moment and woken again never writes into the records of others', async () => {
  const directory = temporaryDirectory()
  const { child, ended } = startLoop({
    format: 'turns',
    directory,
    writer: 'sleeper',
    flush: 'os',
    count: 3000,
  })
  const other = driver('turns').open(directory, { flush: 'os', lockTimeoutMs: 20 })
  await new Promise((resolve) => child.stdout?.once('data', resolve))
  const mine: number[] = []
  let running = true
  ended.then(() => {
    running = false
  })
  // On a busy machine it may be stopped in the midst of a write time and again.
  for (let i = 0; (i < 40 || mine.length === 0) && running; i++) {
    child.kill('SIGSTOP')
    const outcome = await other.append('other', i, 20_000).then(
      () => 'ok',
      (error) => error.code,
    )
    // It was stopped with or without the lock; either way we are told the truth.
    expect(['ok', 'LOCK_BUSY']).toContain(outcome)
    if (outcome === 'ok') mine.push(i)
    child.kill('SIGCONT')
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 10))
  }
  child.kill('SIGKILL')
  const { acknowledged } = await ended
  await other.close()
  expect(mine.length).toBeGreaterThan(0)
  await expectIntact(
    'turns',
    directory,
    new Map([
      ['sleeper', acknowledged],
      ['other', mine],
    ]),
  )
})
