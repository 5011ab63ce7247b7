// Real writers killed at random moments: what was acknowledged is read back, nothing torn is read as a record, and the
// next append works. RECOLLECT_TEST_KILLS sets the number per format (`npm run test:kill`: 500).
import { expect, test } from 'vitest'
import { formats } from './programs/formats.mjs'
import { amountOf } from './setup/long.ts'
import { driver, expectIntact, firstOutput, startLoop, temporaryDirectory } from './support/programs.ts'

const KILLS = amountOf('KILLS', 5, 500)
const AT_ONCE = 2
// A log is killed over and over, so that damage would add up, but stays small enough to be read each time.
const KILLS_PER_LOG = 5

/** A writer that goes on behind a record torn by an earlier kill says so; anything else would be a fault. */
const GAP_WARNING =
  /^\(node:\d+\) \[RECOLLECT_GAP\] Warning: skipped .*\n(?:\(Use `node --trace-warnings .*\n)?/gm

/** Starts a writer, kills it some time after its first acknowledgement (or before), and checks the log. */
async function killOnce(
  format: string,
  directory: string,
  acknowledged: number[],
  from: number,
  seed: number,
) {
  // Half of the writers spend most of their time inside large writes, where a kill tears the record.
  const large = seed % 2 === 0
  const { child, ended } = startLoop({
    format,
    directory,
    writer: 'w',
    from,
    seed,
    flush: seed % 5 === 0 ? 'fdatasync' : 'os',
    minBytes: large ? 1 << 20 : 1 << 10,
    // A bound, should this process be too busy to kill in time: then it waits, having written all.
    count: large ? 8 : 200,
    stays: true,
  })
  // Some kills land before the first record is written.
  if (seed % 10 !== 0) await firstOutput(child)
  await new Promise((resolve) => setTimeout(resolve, Math.random() * (large ? 25 : 10)))
  child.kill('SIGKILL')
  const { acknowledged: now, signal, stderr } = await ended
  expect([signal, stderr.replace(GAP_WARNING, '')]).toEqual(['SIGKILL', ''])
  acknowledged.push(...now)
  const found = await expectIntact(format, directory, new Map([['w', acknowledged]]))
  return { ...found, appendedCount: now.length }
}

async function killLog(
  format: string,
  seed: number,
  kills: number,
): Promise<{ gaps: number; appends: number }> {
  const directory = temporaryDirectory()
  const acknowledged: number[] = []
  let next = 0
  let gaps = 0
  let appends = 0
  for (let i = 0; i < kills; i++) {
    const found = await killOnce(format, directory, acknowledged, next, seed * 1000 + i)
    next = (found.last.get('w') ?? -1) + 1
    gaps = found.gapCount
    appends += found.appendedCount
  }
  const writer = driver(format).open(directory)
  await writer.append('w', next, 5000)
  await writer.close()
  await expectIntact(format, directory, new Map([['w', [...acknowledged, next]]]))
  return { gaps, appends }
}

for (const format of Object.keys(formats)) {
  test(`${format}: ${KILLS} kills at random moments lose nothing acknowledged`, async () => {
    const logs = Array.from({ length: Math.ceil(KILLS / KILLS_PER_LOG) }, (_, i) => i + 1)
    let gaps = 0
    let appends = 0
    const work = async () => {
      for (let seed = logs.pop(); seed !== undefined; seed = logs.pop()) {
        const done = await killLog(format, seed, Math.min(KILLS_PER_LOG, KILLS))
        gaps += done.gaps
        appends += done.appends
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    console.log(`${format}: ${appends} appends acknowledged, ${gaps} torn by the kills`)
    expect(appends).toBeGreaterThan(0)
  })
}
