// Eviction that is killed at any write, and eviction on a disk with no room left: nothing half-done stays, nothing else
// is harmed. Runs the built program.

import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sessionEvents } from '../src/query/events.ts'
import { databasesOf } from '../src/store/databases.ts'
import { IS_LONG } from './setup/long.ts'
import { type MadeSession, Memory, makeSession, wordsFound, writeLines } from './setup/raw-memory.ts'

const cli = join(import.meta.dirname, '..', 'dist', 'cli.cjs')
const hasStrace = spawnSync('strace', ['-V']).status === 0

let memory: Memory
beforeEach(() => {
  memory = new Memory()
})
afterEach(() => memory.remove())

const run = (...args: string[]) =>
  spawnSync(process.execPath, [cli, ...args], { env: { ...process.env, ...memory.env }, encoding: 'utf8' })

describe.skipIf(!hasStrace)('a kill', () => {
  it.each(['some', 'none'])(
    'at any write leaves an eviction that the next one finishes (%s stay)',
    async (stay) => {
      const home = memory.env['HOME'] as string
      const parent = makeSession(home, 5)
      const fork = makeSession(home, 3, parent.lines.slice(0, 10))
      const [other, kept] = [makeSession(home, 70), makeSession(home, 5)]
      for (const one of [parent, fork, other, kept]) writeLines(one)
      await memory.sweep()
      memory.unanalyze()
      const staying = stay === 'some' ? [fork, kept] : []
      const going = stay === 'some' ? [parent, other] : [parent, fork, other, kept]
      memory.analyze(going)
      memory.with((store) => {
        databasesOf(store.reader).memory.exec(
          'UPDATE sessions SET ingested_at = 1 WHERE analyzed_at IS NOT NULL',
        )
      })
      const bodies = bodiesOf(staying)
      const saved = join(memory.root, 'saved')
      cpSync(memory.home, saved, { recursive: true })

      let [killed, cutOff] = [0, 0]
      for (let when = 1; ; when += IS_LONG ? 1 : stay === 'some' ? 29 : 13) {
        rmSync(memory.home, { recursive: true })
        cpSync(saved, memory.home, { recursive: true })
        const calls = 'pwrite64,ftruncate,unlink,fdatasync,fsync'
        const inject = `inject=${calls}:signal=KILL:when=${when}`
        const child = spawnSync(
          'strace',
          [
            '-f',
            '-qq',
            '-o',
            '/dev/null',
            '-e',
            `trace=${calls}`,
            '-e',
            inject,
            process.execPath,
            cli,
            'evict',
          ],
          {
            env: { ...process.env, ...memory.env },
          },
        )
        if (child.signal === null && child.status === 0) break
        killed++
        // Nothing is damaged; where something is half gone, it is said what ends it.
        const verified = run('verify')
        expect([verified.status, verified.stdout], `write ${when}`).toEqual([
          0,
          expect.not.stringContaining('✖'),
        ])
        if (
          verified.stdout
            .replace(/\s+/g, ' ')
            .includes('was cut off, or is under way; recollect sweep ends it')
        )
          cutOff++
        const again = run('evict')
        expect(again.status, again.stderr).toBe(0)
        checkEvicted(going, stay === 'some' ? parent.lines.slice(0, 10).join('\n') : '')
        expect(bodiesOf(staying)).toEqual(bodies)
      }
      if (IS_LONG) process.stderr.write(`${killed} kill points\n`)
      expect(killed).toBeGreaterThan(5)
      expect(cutOff).toBeGreaterThan(2)
    },
    3_600_000,
  )
})

function mount(directory: string, megabytes: number): boolean {
  mkdirSync(directory, { recursive: true })
  return spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', directory]).status === 0
}

const canMount = ((): boolean => {
  const directory = mkdtempSync(join(tmpdir(), 'recollect-mount-'))
  const isMounted = mount(directory, 1)
  if (isMounted) execFileSync('umount', [directory])
  rmSync(directory, { recursive: true })
  return isMounted
})()

describe.skipIf(!canMount)('a full disk (tmpfs)', () => {
  const filler = (): string => join(memory.home, 'filler')
  const fill = (): void => {
    const { bavail, bsize } = statfsSync(memory.home)
    try {
      writeFileSync(filler(), Buffer.alloc(bavail * bsize + (1 << 20), 1))
    } catch (error) {
      expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC')
    }
    expect(statfsSync(memory.home).bavail).toBe(0)
  }

  it.each([0, 1])('does not keep bytes from leaving it (%i of the sessions forked)', async (forks) => {
    mount(memory.home, 96)
    try {
      const home = memory.env['HOME'] as string
      const made = await memory.fill(20, 30, 2)
      const fork = makeSession(home, 2, (made[0] as MadeSession).lines.slice(0, forks * 40))
      writeLines(fork)
      await memory.sweep()
      memory.unanalyze()
      memory.analyze(made)
      memory.caps({ raw_soft_cap_bytes: '2MB' })
      fill()
      const evicted = run('evict', '--json')
      expect(evicted.stderr).toBe('')
      expect(evicted.status).toBe(0)
      const report = JSON.parse(evicted.stdout)
      expect(report.steps.length).toBeGreaterThan(5)
      expect(report.erased).toBe(true)
      expect(report.usage_after_bytes).toBeLessThan(report.usage_before_bytes / 2)
      rmSync(filler())
      const shared = fork.lines.join('\n')
      const gone = made.filter((one) =>
        report.steps.some((step: { session_uid: string }) => step.session_uid === one.uid),
      )
      checkEvicted(gone, shared)
      expect(bodiesOf([fork]).every((body) => body !== undefined)).toBe(true)
    } finally {
      // Lazily: a closed database keeps its file until the collector has been round.
      execFileSync('umount', ['-l', memory.home])
    }
  })

  it('that fills up during the very first sweep leaves the room that the next one needs', async () => {
    mount(memory.home, 64)
    try {
      for (let count = 0; count < 20; count++) writeLines(makeSession(memory.env['HOME'] as string, 30))
      let isFull = false
      const first = memory.sweep({
        onProgress: () => {
          if (!isFull) fill()
          isFull = true
        },
      })
      await first.catch((error) => expect(error).toMatchObject({ code: 'DISK_FULL' }))
      expect(isFull).toBe(true)
      expect(existsSync(join(memory.cache, 'ballast'))).toBe(true)
      expect(run('sweep').stderr).not.toContain('fault')
      rmSync(filler())
      expect(run('sweep').status).toBe(0)
      expect(run('verify').status).toBe(0)
    } finally {
      execFileSync('umount', ['-l', memory.home])
    }
  })
})

describe('the commands', () => {
  it('print the plan, carry it out, pin, unpin and forget', async () => {
    const made = await memory.fill(6, 6)
    memory.analyze(made)
    const [first, second] = made as [MadeSession, MadeSession]
    expect(run('pin', first.uid.slice(7, 20)).stdout).toBe(`${first.uid} is pinned: its raw stays\n`)
    memory.caps({ raw_soft_cap_bytes: '300kB' })
    const before = bodiesOf(made)
    const dry = JSON.parse(run('evict', '--dry-run', '--json').stdout)
    expect(dry.steps.length).toBe(5)
    expect(dry.steps[0]).toMatchObject({ session_uid: second.uid, reason: 'soft_cap', is_data_loss: false })
    expect(run('evict', '--dry-run').stdout).toMatch(`would evict ${second.uid}`)
    expect(bodiesOf(made)).toEqual(before)
    expect(run('evict').stdout).toMatch(/^evicted 5 sessions, raw cache /)
    expect(run('show', second.uid).stdout).toMatch(
      /evicted\s+events 1[–-]24 on .*: analyzed, and the cache was over/,
    )
    expect(run('unpin', first.uid).stdout).toBe(`${first.uid} is no longer pinned\n`)
    expect(run('unpin', first.uid).stdout).toBe(`${first.uid} was not pinned\n`)
    const refused = run('forget', first.uid)
    expect([refused.status, refused.stderr]).toEqual([
      2,
      expect.stringContaining(`recollect forget ${first.uid} --yes`),
    ])
    expect(run('forget', first.uid, '--yes').stdout).toMatch(/is forgotten/)
    expect(run('show', first.uid).status).toBe(1)
  })

  it('tell of a loss on stderr and by the exit code', async () => {
    const made = await memory.fill(2, 3)
    // What Tier 2 does not know cannot be analyzed.
    memory.with((store) => databasesOf(store.reader).memory.exec('DELETE FROM sessions'))
    memory.caps({ raw_soft_cap_bytes: 1, raw_hard_cap_bytes: 1 })
    const evicted = run('evict')
    expect(evicted.status).toBe(4)
    for (const one of made)
      expect(evicted.stderr).toContain(`warning: session_memory.data_loss: ${one.uid}: `)
  })
})

function bodiesOf(made: readonly MadeSession[]): (string | undefined)[] {
  return memory.with((store) => {
    const handle = store.reader
    return made.flatMap((one) =>
      [...sessionEvents(handle, one.uid)].map((event) => handle.payload(event.payload_ref as string)),
    )
  })
}

function checkEvicted(gone: readonly MadeSession[], sharedText: string): void {
  const receipts = memory.rows('SELECT session_uid, state FROM receipts ORDER BY session_uid')
  expect(receipts).toEqual(
    gone
      .map((one) => ({ session_uid: one.uid, state: 'evicted' }))
      .sort((a, b) => (a.session_uid < b.session_uid ? -1 : 1)),
  )
  expect(memory.problems()).toEqual([])
  const words = gone.flatMap((one) => one.words).filter((word) => !sharedText.includes(word))
  expect(wordsFound(memory.cache, words)).toEqual([])
}
