import { availableParallelism } from 'node:os'
import { basename } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** They take longest, so they begin first: none is left to run alone at the end. */
const LONG_ONES = [
  '72-sweep-stop',
  '72-sweep-kill',
  '75-sweep-broken',
  '81-retention-faults',
  '39-record-kill-points',
  '70-sweep',
  '71-sweep-steps',
  '35-record-cli',
  '71-sweep-order',
  '95-web-views',
  '37-record-concurrent',
  '95-web-access',
]

class LongOnesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONG_ONES.indexOf(basename(moduleId, '.test.ts'))
      return at === -1 ? LONG_ONES.length : at
    }
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/setup/build.ts'],
    setupFiles: ['test/setup/ending.ts', 'test/setup/home.ts'],
    // What hangs is to end: no promise about speed, and machines may be busy.
    testTimeout: process.env['RECOLLECT_TEST_LONG'] ? 3_600_000 : 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000 } },
    pool: 'forks',
    // vitest leaves one processor free, which of two is half; and many tests wait for a while, for a process or a clock.
    maxWorkers: availableParallelism() + 3,
    sequence: { sequencer: LongOnesFirst },
  },
})
