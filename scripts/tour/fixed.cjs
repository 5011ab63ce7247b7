// Loaded before the program on a tour: what differs from machine to machine and from day to day is always the same. The
// clock stands still, so that ages and durations do not change from one run to the next.
const fs = require('node:fs')
const { syncBuiltinESMExports } = require('node:module')

const NOW = Date.parse('2026-11-16T09:00:00Z')
const RealDate = Date
if (!process.env.TOUR_CLOCK_RUNS)
  globalThis.Date = class extends RealDate {
    constructor(...values) {
      super(...(values.length === 0 ? [NOW] : values))
    }
    static now() {
      return NOW
    }
  }
Object.defineProperty(process, 'execPath', { value: `${process.env.HOME}/.local/bin/node` })
Object.defineProperty(process, 'version', { value: 'v24.11.0' })
fs.statfsSync = () => ({ bsize: 4096, bavail: 25_000_000, bfree: 25_000_000, blocks: 50_000_000 })
syncBuiltinESMExports()
