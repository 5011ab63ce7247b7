// `recollect status`, the command without a name: what is remembered, how fresh it is, how much room it takes, what needs
// attention, and what to type next.
import { Config } from '../config.ts'
import { type Attention, type Status, statusOf } from '../doctor/status.ts'
import { paint } from './colour.ts'
import { type FormFlags, printCsv } from './csv.ts'
import { formatAge, formatBytes, formatCount, plural } from './format.ts'
import { bar, printFolded, printJson } from './print.ts'
import { sweepLine } from './sweep-line.ts'
import { tableLines } from './table.ts'
import { oneLine } from './text.ts'

export async function showStatus(options: FormFlags): Promise<void> {
  const status = await statusOf(new Config())
  if (options.json) printJson(status)
  else if (options.csv) printCsv(status.flavors)
  else printFolded((await textLines(status)).join('\n'))
}

async function textLines(status: Status): Promise<string[]> {
  if (status.flavors.length === 0) return await emptyLines(status)
  const subs = status.subagent_sessions > 0 ? `, and ${status.subagent_sessions} of sub-agents` : ''
  return [
    `${paint.bold(plural(status.sessions, 'session'))} remembered${subs}`,
    ...sweepLines(status),
    '',
    ...tableLines(status.flavors, [
      { title: 'FLAVOR', cell: (row) => row.flavor, style: (text) => paint.cyan(text) },
      { title: 'SESSIONS', right: true, cell: (row) => formatCount(row.sessions) },
      { title: 'EVENTS', right: true, cell: (row) => formatCount(row.events), optional: 2 },
      { title: 'NEWEST', cell: (row) => (row.last_at === null ? 'unknown' : formatAge(row.last_at)) },
      {
        title: 'READ',
        cell: (row) => (row.read_at === null ? 'never' : formatAge(row.read_at)),
        optional: 1,
      },
    ]),
    '',
    ...storageLines(status.storage),
    ...(await deletionLines(status.deletions)),
    ...attentionLines(status.attention),
    '',
    'next: recollect sessions · recollect show @last · recollect search WORDS',
  ]
}

function sweepLines({ sweep }: Status): string[] {
  const line = sweepLine(
    sweep && {
      doneBytes: sweep.done_bytes,
      totalBytes: sweep.total_bytes,
      doneSources: sweep.done_sources,
      totalSources: sweep.total_sources,
    },
  )
  return line === undefined ? [] : [paint.yellow(line)]
}

const BAR = 20

function storageLines({ raw, distilled }: Status['storage']): string[] {
  const line = (name: string, bytes: number, cap: number, what: string): string => {
    const share = cap === 0 ? 1 : bytes / cap
    const drawn = bar(share, BAR)
    const colour = share > 1 ? paint.red : share > 0.8 ? paint.yellow : paint.green
    return `${name.padEnd(8)} ${colour(drawn)} ${formatBytes(bytes)} of ${formatBytes(cap)} ${paint.dim(what)}`
  }
  return [
    line('raw', raw.bytes, raw.soft_cap_bytes, `(soft cap; hard ${formatBytes(raw.hard_cap_bytes)})`),
    line('memory', distilled.bytes, distilled.cap_bytes, '(kept for good)'),
  ]
}

async function deletionLines(deletions: Status['deletions']): Promise<string[]> {
  if (deletions.length === 0) return []
  const { deletionText } = await import('../doctor/deletions.ts')
  return [
    '',
    ...deletions.flatMap((one) => {
      const isKept = one.unread === 0
      const fix = isKept ? 'recollect doctor --fix makes it keep them' : 'recollect sweep'
      return [`${isKept ? paint.dim('·') : paint.yellow('▲')} ${deletionText(one)}`, `  → ${fix}`]
    }),
  ]
}

const attentionLines = (attention: readonly Attention[]): string[] =>
  attention.length === 0
    ? []
    : [
        '',
        ...attention.flatMap(({ severity, message, fix }) => [
          `${severity === 'error' ? paint.red('✖') : paint.yellow('▲')} ${oneLine(message)}`,
          `  → ${fix}`,
        ]),
      ]

async function emptyLines(status: Status): Promise<string[]> {
  const { placeLines, nextStep } = await import('./empty.ts')
  if (status.sweep) return [paint.bold('a sweep has just begun'), '', 'next: recollect status']
  const { looked_in } = status
  return [
    paint.bold('nothing is remembered yet'),
    '',
    "looked for agents' files:",
    ...placeLines(looked_in),
    '',
    `next: ${nextStep(looked_in)}`,
  ]
}
