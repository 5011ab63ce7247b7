// The suite's own settings, for test files that leave something behind.
import { defineConfig } from 'vitest/config'
import suite from '../../../vitest.config.ts'

export default defineConfig({
  test: { ...suite.test, root: process.cwd(), include: ['test/programs/leaving/*.case.ts'] },
})
