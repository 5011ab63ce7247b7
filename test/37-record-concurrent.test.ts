// Many processes, one file: nothing lost, nothing interleaved, each process's records in order, for readers too.
import { expect, test } from 'vitest'
import { formats } from './programs/formats.mjs'
import { IS_LONG } from './setup/long.ts'
import { driver, expectIntact, startLoop, temporaryDirectory } from './support/programs.ts'

const PROCESSES = 8
const APPENDS = IS_LONG ? 500 : 20

for (const format of Object.keys(formats)) {
  test(`${format}: ${PROCESSES} processes append ${APPENDS} records of 1 KB to 2 MB each`, async () => {
    const directory = temporaryDirectory()
    const acknowledged = new Map<string, number[]>()
    const runs = Array.from({ length: PROCESSES }, async (_, i) => {
      const writer = `p${i}`
      const { ended } = startLoop({ format, directory, writer, count: APPENDS, seed: i + 1, flush: 'os' })
      const { acknowledged: numbers, code, stderr } = await ended
      expect({ writer, code, stderr }).toEqual({ writer, code: 0, stderr: '' })
      acknowledged.set(writer, numbers)
    })
    let running = true
    const watch = async () => {
      // A reader meanwhile may find the record being written torn, but never a wrong one.
      while (running) {
        await expectIntact(format, directory, new Map())
        await new Promise((resolve) => setTimeout(resolve, 1000))
      }
    }
    const all = Promise.all(runs).finally(() => {
      running = false
    })
    await Promise.all([all, watch()])
    expect([...acknowledged.values()].map((numbers) => numbers.length)).toEqual(
      Array(PROCESSES).fill(APPENDS),
    )
    const found = await expectIntact(format, directory, acknowledged)
    expect(found.recordCount).toBe(PROCESSES * APPENDS)
    expect(found.gapCount).toBe(0)
  })

  test(`${format}: concurrent calls in one process keep their order`, async () => {
    const directory = temporaryDirectory()
    const writer = driver(format).open(directory, { flush: 'os' })
    const other = driver(format).open(directory, { flush: 'os' })
    const calls: Promise<unknown>[] = []
    for (let i = 0; i < 200; i++) {
      calls.push(writer.append('a', i, 1000 + i * 100), other.append('b', i, 1000))
    }
    await Promise.all(calls)
    await writer.close()
    await other.close()
    const numbers = Array.from({ length: 200 }, (_, i) => i)
    const found = await expectIntact(
      format,
      directory,
      new Map([
        ['a', numbers],
        ['b', numbers],
      ]),
    )
    expect(found).toMatchObject({ recordCount: 400, gapCount: 0 })
  })
}
