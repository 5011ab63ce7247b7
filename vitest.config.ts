import { availableParallelism } from 'node:os'
import { basename } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** They take longest, so they begin first: none is left to run alone at the end. */
const LONG_ONES = [
  '72-sweep-kill',
  '71-sweep-steps',
  '75-sweep-broken',
  '95-web-access',
  '74-sweep-corpora',
  '37-record-concurrent',
  '39-record-kill-points',
  '39-record-kill',
  '81-evicted-parts',
  '81-retention-faults',
  '64-repair',
  '66-copied-roots',
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
    testTimeout: process.env['RECOLLECT_TEST_LONG'] ? 600_000 : 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // vitest leaves one processor free, which of two is half.
    maxWorkers: availableParallelism(),
    sequence: { sequencer: LongOnesFirst },
  },
})
