// `recollect search`: what was found, session by session, each with the command that shows it.
import type { Command } from 'commander'
import { nearest } from '../config.ts'
import { RecollectError } from '../errors.ts'
import type { EventKind } from '../model.ts'
import { resolveSession } from '../query/ids.ts'
import {
  type SearchHit,
  type SearchOptions,
  type SessionHits,
  searchDocument,
  searchSessions,
} from '../query/search.ts'
import { firstPrompts } from '../query/sessions.ts'
import { shortIds } from '../query/short-ids.ts'
import { parseQuery } from '../store/words.ts'
import { paint } from './colour.ts'
import { filterFrom, refuseUnknown } from './filter-values.ts'
import type { FilterFlags } from './filters.ts'
import { formatDay, formatTime } from './format.ts'
import { outputWidth, print, printFolded, printJson } from './print.ts'
import { REASONS } from './retention-report.ts'
import { cut, oneLine, widthOf } from './text.ts'
import { warnUnread } from './unread.ts'
import { parseKinds, parseLimit, parseName } from './values.ts'
import { withMemory } from './with-memory.ts'

export interface SearchCommand extends FilterFlags {
  kind?: string
  session?: string
  excludeSession?: string
  limit?: string
  json?: boolean
}

export async function runSearch(words: string[], flags: SearchCommand, command: Command): Promise<void> {
  refuseMisspelt(words, command)
  const query = words.join(' ')
  if (parseQuery(query) === undefined)
    throw new RecollectError('USAGE', 'the query has no word that must be there', {
      where: query.trim() || 'query',
      hint: /[\p{L}\p{N}]/u.test(query)
        ? 'at least one word without a minus: recollect search error -docker'
        : 'letters and digits are looked for, other signs are not: recollect search error',
    })
  const options: SearchOptions = filterFrom(flags)
  if (flags.kind !== undefined) options.kinds = parseKinds(flags.kind)
  if (flags.limit !== undefined) options.limit = parseLimit(flags.limit)
  // In a terminal the words are to be in the part of the line that fits.
  if (!flags.json) options.lineLength = Math.min(Math.max(outputWidth() - 24, 30), 160)
  await withMemory((handle) => {
    if (flags.session !== undefined)
      options.session = resolveSession(handle, parseName(flags.session, '--session'))
    if (flags.excludeSession !== undefined)
      options.excludeSession = resolveSession(handle, parseName(flags.excludeSession, '--exclude-session'))
    const found = searchSessions(handle, query, options)
    if (found.length === 0) refuseUnknown(handle, options)
    const document = searchDocument(query, found)
    warnUnread('search', document.unread_bodies)
    if (flags.json) return printJson(document)
    if (found.length === 0) return printFolded(nothingFound(words, query))
    const ids = shortIds(
      handle,
      found.map((one) => one.session.session_uid),
    )
    const prompts = firstPrompts(
      handle,
      found.filter((one) => one.session.title === null).map((one) => one.session.session_uid),
    )
    print(found.map((one) => groupLines(one, ids, prompts).join('\n')).join('\n\n'))
  })
}

/** Every word has to be in one event, as a whole: what to take away. */
function nothingFound(words: readonly string[], query: string): string {
  const [word] = query.match(/[\p{L}\p{N}_]{3,}/gu) ?? []
  const tries = [
    ...(words.join(' ').trim().includes(' ') ? ['fewer words'] : []),
    ...(word && !query.includes('*')
      ? [`a beginning: recollect search '${word.slice(0, Math.max(3, word.length - 2))}*'`]
      : []),
  ]
  return tries.length === 0 ? 'nothing found' : `nothing found; try ${tries.join(', or ')}`
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

function groupLines(
  found: SessionHits,
  ids: ReadonlyMap<string, string>,
  prompts: ReadonlyMap<string, string>,
): string[] {
  const { session, evicted, hits } = found
  const id = ids.get(session.session_uid) ?? session.session_uid
  const facts = [formatTime(session.started_at), session.flavor, oneLine(session.repo ?? '-')].join('  ')
  const about = session.title ?? prompts.get(session.session_uid) ?? ''
  const title = cut(oneLine(about), outputWidth() - widthOf(`${id}  ${facts}  `))
  const lines = [`${paint.cyan(id)}  ${facts}  ${paint.bold(title)}`.trimEnd()]
  if (evicted) lines.push(`  events evicted ${formatDay(evicted.at)}: ${REASONS[evicted.reason]}`)
  const width = Math.max(...hits.map((hit) => seqText(hit).length))
  for (const hit of hits) lines.push(hitLine(hit, width))
  const best = hits[0] as SearchHit
  lines.push(
    `  ${paint.dim(best.is_evicted ? `recollect digest ${id}` : `recollect show ${id}#${best.seq}`)}`,
  )
  return lines
}

const seqText = (hit: SearchHit): string => (hit.seq === null ? '' : `#${hit.seq}`)

function hitLine(hit: SearchHit, seqWidth: number): string {
  const name = (NAMES[hit.kind] ?? hit.kind).padEnd(NAME_WIDTH)
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
