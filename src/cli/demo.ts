// `recollect demo`: a memory of the bundled samples in a directory of its own, for a first look. With --if-empty what
// agents left on this machine comes first, and the samples only where there is nothing.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { ADAPTERS } from '../adapters/index.ts'
import { Config } from '../config.ts'
import { places } from '../doctor/places.ts'
import { RecollectError } from '../errors.ts'
import { shellWord } from '../files/shell.ts'
import { sweep } from '../sweep/index.ts'
import type { SweepReport } from '../sweep/report.ts'
import { paint } from './colour.ts'
import { placeLines } from './empty.ts'
import { formatDuration, plural } from './format.ts'
import { Progress, print, printJson } from './print.ts'
import { parseName } from './values.ts'

export interface DemoCommand {
  dir?: string
  ifEmpty?: boolean
  json?: boolean
}

/** Beside dist/ in the package. */
const SAMPLES = resolve(import.meta.dirname, '..', 'samples')

export async function runDemo(options: DemoCommand): Promise<void> {
  if (options.ifEmpty && (await sweepHere(options))) return
  const home =
    options.dir === undefined
      ? mkdtempSync(join(tmpdir(), 'recollect-demo-'))
      : resolve(parseName(options.dir, '--dir'))
  const report = await sweepInto(home, { HOME: SAMPLES })
  if (report.sessions.size === 0 && report.counts.unchanged === 0) {
    if (options.dir === undefined) rmSync(home, { recursive: true })
    throw new RecollectError('NOT_FOUND', 'the bundled samples are missing', {
      where: SAMPLES,
      hint: 'install the package again',
    })
  }
  if (options.json) return printJson({ home, samples: true, sessions: report.sessionUids.toSorted() })
  print(`${demoLines(home, report).join('\n')}\n`)
  process.env['RECOLLECT_HOME'] = home
  await (await import('./status.ts')).showStatus({})
  print(['', paint.bold('Try:'), ...tryLines(home)].join('\n'))
}

async function sweepInto(home: string, env: Record<string, string | undefined>): Promise<SweepReport> {
  const shown = new Progress()
  try {
    return await sweep({
      config: new Config({ env: { RECOLLECT_HOME: home } }),
      adapters: ADAPTERS,
      env,
      onProgress: ({ doneSources, totalSources }) =>
        shown.show(() => `reading ${doneSources} of ${totalSources} files`),
    })
  } finally {
    shown.clear()
  }
}

/** True when there was something of this machine's own to show. */
async function sweepHere(options: DemoCommand): Promise<boolean> {
  const config = new Config()
  const found = places(config)
  if (found.some((place) => place.exists)) {
    await (await import('./sweep.ts')).runSweep(options)
    if (options.json) return true
    print('')
    await (await import('./status.ts')).showStatus({})
    for (const line of aliasLines()) print(line)
    return true
  }
  if (!options.json) print(['no agent has left anything here:', ...placeLines(found), ''].join('\n'))
  return false
}

/** In a checkout the program has no name yet. */
function aliasLines(): string[] {
  const script = process.argv[1] ?? ''
  return basename(script) === 'cli.cjs' ? [`  alias recollect=${shellWord(`node ${shellWord(script)}`)}`] : []
}

function demoLines(home: string, report: SweepReport): string[] {
  const took = formatDuration(report.endedAt - report.startedAt)
  return [
    `${paint.bold('A demo memory')} of the bundled samples: ${plural(report.newEventCount, 'event')} read in ${took}.`,
    `It lies in ${home}; your own memory was not touched.`,
  ]
}

const tryLines = (home: string): string[] => [
  ...aliasLines(),
  `  export RECOLLECT_HOME=${shellWord(home)}`,
  '  recollect ui                       # all of it in the browser',
  '  recollect sessions                 # what there is',
  '  recollect show @last               # one session to read',
  '  recollect search "should be 5"     # what failed, in whichever agent',
  '  recollect usage model              # tokens and money',
  '  recollect patterns                 # what keeps failing, and what fixed it',
  '',
  `When done: rm -r ${shellWord(home)}; unset RECOLLECT_HOME`,
]
