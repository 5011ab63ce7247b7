// How much a test tries: little with every change, much in `npm run test:long`, which sets RECOLLECT_TEST_LONG. A variable of
// its own (RECOLLECT_TEST_KILLS=500) sets one of the amounts.

export const IS_LONG = process.env['RECOLLECT_TEST_LONG'] !== undefined

type Amount =
  | 'CORRUPTIONS'
  | 'EVICTIONS'
  | 'FUZZ'
  | 'HOOKS'
  | 'KILLS'
  | 'KILL_POINT_APPENDS'
  | 'LARGE_MB'
  | 'MERGES'
  | 'PLANS'
  | 'ROUND_TRIPS'
  | 'RUNS'
  | 'SHELLS'

export const amountOf = (name: Amount, short: number, long: number): number =>
  Number(process.env[`RECOLLECT_TEST_${name}`] ?? (IS_LONG ? long : short))
