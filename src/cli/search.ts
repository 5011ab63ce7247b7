// `recollect search`: what was found, session by session, each with the command that shows it.
import type { Command } from 'commander'
import { nearest } from '../config.ts'
import { RecollectError } from '../errors.ts'
import type { EventKind } from '../model.ts'
import { type Answer, type AnswerOptions, answer, searchDocument } from '../query/answer.ts'
import type { SearchHit } from '../query/hits.ts'
import { resolveSession } from '../query/ids.ts'
import { shortIds } from '../query/short-ids.ts'
import { refuseEmpty } from '../query/signs.ts'
import type { Reader } from '../store/reader/index.ts'
import type { Scanned } from '../store/scan.ts'
import { headLines, restLine } from './answer-text.ts'
import { type Answers, answerFrom, type FoundSession, typedHere } from './answers.ts'
import { paint } from './colour.ts'
import { printCsv } from './csv.ts'
import { filterFrom, refuseUnknown } from './filter-values.ts'
import type { FilterFlags } from './filters.ts'
import { formatBytes, formatDay, formatTime, plural } from './format.ts'
import { bar, outputWidth, Progress, print, printFolded, printJson, tell } from './print.ts'
import { REASONS } from './retention-report.ts'
import { Stop } from './stop.ts'
import { cut, labelled, oneLine, widthOf } from './text.ts'
import { warnUnread } from './unread.ts'
import { parseKinds, parseLimit, parseName } from './values.ts'
import { withMemory } from './with-memory.ts'

export interface SearchCommand extends FilterFlags {
  kind?: string
  session?: string
  excludeSession?: string
  limit?: string
  literal?: boolean
  regex?: boolean
  json?: boolean
  csv?: boolean
}

export async function runSearch(words: string[], flags: SearchCommand, command: Command): Promise<void> {
  refuseMisspelt(words, command)
  const query = words.join(' ')
  const how = howAsked(flags)
  refuseEmpty(query, how, query.trim() || 'query')
  const options: AnswerOptions = { ...filterFrom(flags), how }
  if (flags.kind !== undefined) options.kinds = parseKinds(flags.kind)
  if (flags.limit !== undefined) options.limit = parseLimit(flags.limit)
  // In a terminal the words are to be in the part of the line that fits.
  if (!flags.json && !flags.csv) options.lineLength = Math.min(Math.max(outputWidth() - 24, 30), 160)
  if (flags.session !== undefined) options.session = parseName(flags.session, '--session')
  if (flags.excludeSession !== undefined)
    options.excludeSession = parseName(flags.excludeSession, '--exclude-session')
  const ask = await answerFrom('search', inMemory)
  const { document, unread, head, sessions, rest } = await ask(query, options, flags)
  warnUnread('search', unread)
  if (flags.json) return printJson(document)
  if (flags.csv) return printCsv(sessions.flatMap(hitRows))
  if (head.length > 0) printFolded(head.join('\n'))
  const groups = sessions.map((one) => groupLines(one).join('\n'))
  if (groups.length > 0) print((head.length > 0 ? '\n' : '') + groups.join('\n\n'))
  if (rest !== undefined) tell(`${rest}\n`)
}

const inMemory: Answers['search'] = (query, options, flags) =>
  withMemory(async (handle) => {
    for (const name of ['session', 'excludeSession'] as const)
      if (options[name] !== undefined) options[name] = resolveSession(handle, options[name])
    const found = await watched(handle, query, options)
    if (found.sessions.length === 0) refuseUnknown(handle, options)
    const document = searchDocument(found)
    return {
      document,
      unread: document.unread_bodies,
      head: headLines(found),
      sessions: foundIn(handle, found),
      rest: restLine(found, flags),
    }
  })

/** Each hit with what its session is called. */
const hitRows = ({ what, flavor, repo, hits }: FoundSession): object[] =>
  hits.map(({ session_uid, marks: _, ...hit }) => ({ session_uid, title: what, flavor, repo, ...hit }))

function howAsked({ literal, regex }: SearchCommand): NonNullable<AnswerOptions['how']> {
  if (literal && regex)
    throw new RecollectError('USAGE', '--literal and --regex are two ways to look', {
      where: '--regex',
      hint: 'one of them',
    })
  return literal ? 'literal' : regex ? 'regex' : 'words'
}

/** Reading all bodies may take a while: it is shown, and can be ended; what was found until then is told. */
async function watched(handle: Reader, query: string, options: AnswerOptions): Promise<Answer> {
  const progress = new Progress()
  // While an expression runs only Ctrl-C is heard: other signals are left to the system, which then ends the program.
  const stop = new Stop(options.how === 'regex' ? ['SIGINT'] : undefined)
  stop.listen(true)
  try {
    const found = await answer(handle, query, {
      ...options,
      signal: stop.signal,
      run: stop.run,
      progress: (read, of) =>
        progress.show(
          () => `reading bodies  ${bar(read / Math.max(1, of), 20)}  ${formatBytes(of)} packed  Ctrl-C ends`,
        ),
    })
    progress.clear()
    if (stop.signal.aborted && found.scanned) tell(`ended by you ${farText(found.scanned)}\n`)
    return found
  } finally {
    stop.listen(false)
    progress.clear()
    if (stop.exitCode !== undefined) process.exitCode = stop.exitCode
  }
}

const farText = ({ bytes, sessions }: Scanned): string =>
  bytes === 0
    ? 'before the first text was looked through'
    : `after ${formatBytes(bytes)} of text in the newest ${plural(sessions, 'session')}`

function foundIn(handle: Reader, found: Answer): FoundSession[] {
  const uids = found.sessions.map((one) => one.session.session_uid)
  const ids = shortIds(handle, uids)
  const prompts = handle.sessions.firstPrompts(
    found.sessions.filter((one) => one.session.title === null).map((one) => one.session.session_uid),
  )
  return found.sessions.map(({ session, evicted, hits, missing, also_in }) => ({
    id: ids.get(session.session_uid) ?? session.session_uid,
    what: labelled(session, oneLine(session.title ?? prompts.get(session.session_uid) ?? '')),
    flavor: session.flavor,
    repo: session.repo,
    started_at: session.started_at,
    evicted,
    hits,
    missing,
    others: also_in.length,
  }))
}

/** Words that begin with a dash are part of a query; one that is nearly a flag of ours is a slip. */
function refuseMisspelt(words: readonly string[], command: Command): void {
  const flags = command.options.map((option) => option.long ?? '')
  const end = process.argv.indexOf('--')
  const literal = end === -1 ? [] : process.argv.slice(end + 1)
  for (const word of words) {
    if (!/^--\w/.test(word) || literal.includes(word)) continue
    const near = nearest(word.replace(/=.*/s, ''), flags)
    if (near === undefined) continue
    throw new RecollectError('USAGE', `unknown option ${word}`, {
      where: word,
      hint: `did you mean ${near}? to search for it: recollect search -- ${word}`,
    })
  }
}

/** Kinds as people call them. */
const NAMES: Partial<Record<EventKind, string>> = {
  user_msg: 'prompt',
  assistant_msg: 'answer',
  tool_call: 'call',
  tool_result: 'output',
  test_run: 'test',
  human_intervention: 'human',
}
const NAME_WIDTH = 10

function groupLines(found: FoundSession): string[] {
  const { id, evicted, hits, missing, others } = found
  const facts = [formatTime(found.started_at), found.flavor, oneLine(found.repo ?? '-')].join('  ')
  const title = cut(found.what, outputWidth() - widthOf(`${id}  ${facts}  `))
  const lines = [`${paint.cyan(id)}  ${facts}  ${paint.bold(title)}`.trimEnd()]
  if (evicted) lines.push(`  events evicted ${formatDay(evicted.at)}: ${REASONS[evicted.reason]}`)
  const width = Math.max(...hits.map((hit) => seqText(hit).length))
  for (const hit of hits) lines.push(hitLine(hit, width))
  const [best] = hits
  if (missing.length > 0) lines.push(paint.dim(`  without ${missing.map(oneLine).join(', ')}`))
  if (others > 0) lines.push(paint.dim(`  also in ${plural(others, 'other session')} of this task`))
  const at = best?.seq == null ? '' : `#${best.seq}`
  const isGone = best === undefined || best.is_evicted
  lines.push(`  ${paint.dim(typedHere(isGone ? `digest ${id}` : `show ${id}${at}`))}`)
  return lines
}

const seqText = (hit: SearchHit): string => (hit.seq === null ? '' : `#${hit.seq}`)

function hitLine(hit: SearchHit, seqWidth: number): string {
  const name = (hit.label ?? NAMES[hit.kind] ?? hit.kind).padEnd(NAME_WIDTH)
  const start = `  ${seqText(hit).padStart(seqWidth)}  ${name}  `
  const end = hit.is_unread ? '  (its body cannot be read)' : ''
  return start + marked(hit, Math.max(20, outputWidth() - start.length - end.length)) + paint.dim(end)
}

/** The line with its words in bold, cut to the width. */
function marked(hit: SearchHit, width: number): string {
  const line = cut(hit.line, width)
  const end = line === hit.line ? line.length : line.length - 1
  let out = ''
  let at = 0
  for (const [from, to] of hit.marks) {
    if (from >= end) break
    out += line.slice(at, from) + paint.bold(line.slice(from, Math.min(to, end)))
    at = Math.min(to, end)
  }
  return out + line.slice(at)
}
