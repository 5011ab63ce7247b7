// How much a test tries: little with every change, much in `npm run test:long`, which sets RECOLLECT_TEST_LONG. A variable of
// its own (RECOLLECT_TEST_KILLS=500) sets one of the amounts.

export const IS_LONG = process.env['RECOLLECT_TEST_LONG'] !== undefined

type Amount =
  | 'CORRUPTIONS'
  | 'EVICTIONS'
  | 'FLEET_KILLS'
  | 'FLEET_SLOW'
  | 'FLEET_STORE_KILLS'
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

/** What random choices begin with: the same with every change, another in each long run. RECOLLECT_TEST_SEED repeats a run. */
export const seedOf = (short: number): number =>
  Number(process.env['RECOLLECT_TEST_SEED'] ?? (IS_LONG ? Date.now() % 2 ** 31 : short))
