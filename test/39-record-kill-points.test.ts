// A writer killed before each system call that changes something on disk, one run per call, until a run gets through.
// A state on disk only changes by such a call, so these are all the states a kill between two calls can leave; kills
// inside a write are in 39-record-kill. Needs strace (`apt-get install strace`).
import { expect } from 'vitest'
import { formats } from './programs/formats.mjs'
import { amountOf, IS_LONG } from './setup/long.ts'
import { driver, expectIntact, startLoop, temporaryDirectory, testNeeding } from './support/programs.ts'

const CHANGES = ['mkdir', 'write', 'pwrite64', 'ftruncate', 'rename', 'unlink', 'fchmod']
/** A kill before one leaves what a kill before the next change leaves: tried in the long run. */
const FLUSHES = ['fdatasync', 'fsync']
const CALLS = IS_LONG ? [...CHANGES, ...FLUSHES] : CHANGES
const APPENDS = amountOf('KILL_POINT_APPENDS', 2, 6)
const MOST_POINTS = 200

/** One run killed at the n-th such call; false when it came through. */
async function killAt(format: string, call: string, n: number): Promise<boolean> {
  const directory = temporaryDirectory()
  const { ended } = startLoop(
    { format, directory, writer: 'w', count: APPENDS, seed: n, flush: 'fdatasync' },
    [
      'strace',
      '-f',
      '-qq',
      '-o',
      '/dev/null',
      '-e',
      `trace=${call}`,
      '-e',
      `inject=${call}:signal=KILL:when=${n}`,
    ],
  )
  const { acknowledged, signal, code, stderr } = await ended
  if (signal === null) expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const found = await expectIntact(format, directory, new Map([['w', acknowledged]]))
  // One record may be whole on disk and not yet acknowledged, never more.
  expect(found.recordCount - acknowledged.length).toBeLessThanOrEqual(1)
  const next = (found.last.get('w') ?? -1) + 1
  const writer = driver(format).open(directory)
  await writer.append('w', next, 3000)
  await writer.close()
  await expectIntact(format, directory, new Map([['w', [...acknowledged, next]]]))
  return signal !== null
}

for (const format of Object.keys(formats)) {
  testNeeding(['strace'], `${format}: killed before each call that changes the disk`, async () => {
    const points: Record<string, number> = {}
    const calls = [...CALLS]
    const work = async () => {
      for (let call = calls.pop(); call !== undefined; call = calls.pop()) {
        let n = 1
        while (n <= MOST_POINTS && (await killAt(format, call, n))) n++
        expect(n, `more than ${MOST_POINTS} ${call} calls`).toBeLessThanOrEqual(MOST_POINTS)
        points[call] = n - 1
      }
    }
    await Promise.all([work(), work()])
    console.log(`${format}: kill points`, JSON.stringify(points))
    expect(points['write']).toBeGreaterThanOrEqual(APPENDS)
    if (IS_LONG) expect(points['fdatasync']).toBeGreaterThanOrEqual(APPENDS)
  })
}
