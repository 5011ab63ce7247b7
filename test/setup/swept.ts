// Sweeps directories into a memory of their own and gives it to read.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { ADAPTERS } from '../../src/adapters/index.ts'
import { Config } from '../../src/config.ts'
import type { Reader } from '../../src/store/reader/index.ts'
import { openForReading, storePaths } from '../../src/store/reading.ts'
import { sweep } from '../../src/sweep/index.ts'
import { temporary } from './temporary.ts'

/** Roots by flavor; the memory is closed when the test ends. */
export async function sweptMemory(roots: Record<string, string[]>): Promise<Reader> {
  const home = temporary('swept')
  const empty = join(home, 'nobody')
  mkdirSync(empty)
  writeFileSync(
    join(home, 'config.toml'),
    Object.entries(roots)
      .map(([flavor, list]) => `[sources.${flavor}]\nroots = ${JSON.stringify(list)}\n`)
      .join(''),
  )
  await sweep({
    config: new Config({ env: { RECOLLECT_HOME: home } }),
    adapters: ADAPTERS,
    env: { HOME: empty },
  })
  const handle = openForReading(storePaths(home))
  onTestFinished(() => handle.close())
  return handle
}
