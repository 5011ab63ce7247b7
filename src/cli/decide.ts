// `recollect decide`: writes decisions, lists them, and takes them back.
import { Config } from '../config.ts'
import { decide, undecide } from '../decide.ts'
import { RecollectError } from '../errors.ts'
import type { Decision } from '../model.ts'
import { resolveSession } from '../query/ids.ts'
import { shortIds } from '../query/short-ids.ts'
import { printCsv, refuseCsv } from './csv.ts'
import { formatTime } from './format.ts'
import { print, printFolded, printJson } from './print.ts'
import { tableLines } from './table.ts'
import { oneLine } from './text.ts'
import { refuseUnused } from './values.ts'
import { withMemory } from './with-memory.ts'

export interface DecideCommand {
  tag?: string[]
  author?: string
  remove?: boolean
  json?: boolean
  csv?: boolean
}

export async function runDecide(
  typed: string | undefined,
  words: readonly string[],
  options: DecideCommand,
): Promise<void> {
  if (options.remove) return takeBack(typed, words, options)
  if (typed === undefined || words.length === 0) {
    refuseUnused(options, ['tag', 'author'])
    return listDecisions(typed, options)
  }
  refuseCsv(options)
  const decision = decide({
    config: new Config(),
    session: typed,
    text: words.join(' '),
    tags: options.tag ?? [],
    ...(options.author === undefined ? {} : { author: options.author }),
  })
  tell('decided', decision, options)
}

function takeBack(typed: string | undefined, words: readonly string[], options: DecideCommand): void {
  if (typed === undefined || !/#\d+$/.test(typed) || words.length > 0)
    throw new RecollectError('USAGE', '--remove takes one decision, and no text', {
      where: '--remove',
      hint: 'recollect decide ID#SEQ --remove; recollect decide lists them',
    })
  refuseUnused(options, ['tag', 'author'])
  refuseCsv(options)
  tell('taken back', undecide({ config: new Config(), decision: typed }), options)
}

function tell(what: string, decision: Decision, { json }: DecideCommand): void {
  if (json) printJson(decision)
  else printFolded(`${decision.session_uid}#${decision.seq}\n${what}: ${oneLine(decision.text)}`)
}

/** Newest first. */
async function listDecisions(typed: string | undefined, { json, csv }: DecideCommand): Promise<void> {
  await withMemory((handle) => {
    const filter = typed === undefined ? {} : { session: resolveSession(handle, typed) }
    const decisions = handle.sessions
      .decisionsWhere({ ...filter, withSubagents: true })
      .sort((a, b) => (a.ts < b.ts ? 1 : a.ts > b.ts ? -1 : b.seq - a.seq))
    if (json) return printJson({ decisions })
    if (csv) return printCsv(decisions)
    if (decisions.length === 0)
      return print('no decision was written down; recollect decide ID TEXT writes one')
    const ids = shortIds(handle, [...new Set(decisions.map((one) => one.session_uid))])
    const lines = tableLines(decisions, [
      { title: 'DECIDED', cell: (one) => formatTime(one.ts) },
      { title: 'ID', cell: (one) => `${ids.get(one.session_uid) ?? one.session_uid}#${one.seq}` },
      { title: 'BY', cell: (one) => oneLine(one.author), least: 6, optional: 2 },
      { title: 'TAGS', cell: (one) => one.tags.map(oneLine).join(' '), least: 6, optional: 1 },
      { title: 'DECISION', cell: (one) => oneLine(one.text), least: 24 },
    ])
    print(lines.join('\n'))
  })
}
