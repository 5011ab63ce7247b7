// `recollect doctor`: the findings of doctor/, what needs attention last, where it is seen.

import type { Finding, Severity } from '../doctor/finding.ts'
import { doctorDocument, examine } from '../doctor/index.ts'
import { RecollectError } from '../errors.ts'
import { paint } from './colour.ts'
import { printCsv } from './csv.ts'
import { EXIT } from './exit.ts'
import { plural } from './format.ts'
import { type FixCommand, runFixes } from './keeping.ts'
import { outputWidth, Progress, print, printJson } from './print.ts'
import { fold, oneLine } from './text.ts'

export interface DoctorCommand extends FixCommand {
  deep?: boolean
  csv?: boolean
}

const LEAST_TEXT = 30
const SIGNS: Record<Severity, string> = { ok: '✔', info: '·', warning: '▲', error: '✖' }
const ORDER: readonly Severity[] = ['ok', 'info', 'warning', 'error']

export async function runDoctor(options: DoctorCommand): Promise<void> {
  if (options.fix && options.undo)
    throw new RecollectError('USAGE', '--fix does not go with --undo', {
      where: '--undo',
      hint: 'leave one out: --undo takes back what --fix did',
    })
  const findings = await patiently((onWait) =>
    examine({ env: process.env, isDeep: options.deep ?? false, onWait }),
  )
  const { counts } = doctorDocument(findings)
  if (options.csv) printCsv(findings)
  else if (!options.json) print([...findingLines(findings), '', summary(counts)].join('\n'))
  const fixes = options.fix || options.undo ? { fixes: await runFixes(options) } : {}
  if (options.json) printJson({ findings, counts, ...fixes })
  if (counts.error > 0) process.exitCode = EXIT.failed
}

/** Whoever looks at a terminal that stands still wants to know what for. */
async function patiently<T>(work: (onWait: (programs: readonly string[]) => void) => Promise<T>): Promise<T> {
  const progress = new Progress()
  let waited: readonly string[] = []
  const timer = setInterval(() => {
    if (waited.length > 0)
      progress.show(() => `waiting for ${waited.join(', ')}: is the MCP server registered?`)
  }, 200)
  try {
    return await work((programs) => {
      waited = programs
    })
  } finally {
    clearInterval(timer)
    progress.clear()
  }
}

export function findingLines(findings: readonly Finding[]): string[] {
  const width = Math.min(outputWidth(), 100)
  const widest = Math.max(...findings.map((one) => one.id.length)) + 4
  // Beside the names too little room is left on a narrow terminal: the text then stands below.
  const isNarrow = width < widest + LEAST_TEXT
  const names = isNarrow ? 4 : widest
  const sorted = findings.toSorted((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity))
  return sorted.flatMap((one) => {
    const head = `${painted(one.severity, SIGNS[one.severity])} ${one.id.padEnd(names - 2)}`
    const [first = '', ...rest] = fold(oneLine(one.text), width - names)
    const lines = [
      ...(isNarrow ? [head, `${' '.repeat(names)}${first}`] : [head + first]),
      ...rest.map((line) => `${' '.repeat(names)}${line}`),
    ]
    if (one.fix !== null && one.severity !== 'ok') {
      const fix = fold(oneLine(one.fix), width - names - 2)
      lines.push(...fix.map((line, at) => `${' '.repeat(names)}${at === 0 ? '→ ' : '  '}${paint.cyan(line)}`))
    }
    return lines
  })
}

function painted(severity: Severity, text: string): string {
  if (severity === 'error') return paint.red(text)
  if (severity === 'warning') return paint.yellow(text)
  return severity === 'ok' ? paint.green(text) : text
}

function summary({ error, warning }: Record<Severity, number>): string {
  if (error + warning === 0) return 'everything is as it should be'
  return `${plural(error, 'error')}, ${plural(warning, 'warning')}`
}
