// `recollect lineage`: the tree as text, as JSON, or as a graph for dot.
import { OUTCOME_WORDS } from '../model.ts'
import {
  type LineageEdge,
  type LineageNode,
  lineageDocument,
  lineageOf,
  loggedUids,
  nodeOf,
} from '../query/lineage.ts'
import { pricesFor } from '../query/prices.ts'
import { type ListOptions, listSessions, resolveSession } from '../query/sessions.ts'
import { shortIds } from '../query/short-ids.ts'
import type { Reader } from '../store/reader/index.ts'
import { shortUsd, unitsOf } from '../usage/money.ts'
import { overridesOf } from '../usage/overrides.ts'
import { type Answers, answerFrom } from './answers.ts'
import { inLocale } from './colour.ts'
import { printCsv } from './csv.ts'
import { EXIT } from './exit.ts'
import { refuseUnknown } from './filter-values.ts'
import { formatCount, formatDay, formatTime, plural, printable } from './format.ts'
import { outputWidth, tell, write } from './print.ts'
import { cut, foldText, oneLine, widthOf } from './text.ts'
import { parseFlavor, parseLimit, parseName, readTime } from './values.ts'
import { withMemory } from './with-memory.ts'

export interface LineageCommand {
  flavor?: string
  repo?: string
  host?: string
  since?: string
  limit?: string
  dot?: boolean
  json?: boolean
  csv?: boolean
}

export async function showLineage(typed: string | undefined, options: LineageCommand): Promise<void> {
  const filter: ListOptions = {
    limit: options.limit === undefined ? 20 : parseLimit(options.limit),
  }
  if (options.flavor !== undefined) filter.flavor = parseFlavor(options.flavor)
  if (options.repo !== undefined) filter.repo = parseName(options.repo, '--repo')
  if (options.host !== undefined) filter.host = parseName(options.host, '--host')
  if (options.since !== undefined) filter.sinceAt = readTime(options.since, '--since')
  const ask = await answerFrom('lineage', inMemory)
  const lineage = await ask(typed, filter)
  if (options.csv) printCsv(lineageDocument(lineage, lineage.asked).nodes)
  else write(draw(lineage, options))
  for (const problem of lineage.problems)
    tell(`${oneLine(`warning: ${problem.kind}: ${problem.session_uid}: ${problem.detail}`)}\n`)
  if (lineage.problems.length > 0) process.exitCode = EXIT.partial
}

type Answer = Awaited<ReturnType<Answers['lineage']>>

const inMemory: Answers['lineage'] = (typed, filter) =>
  withMemory(async (handle, config): Promise<Answer> => {
    const uids = typed === undefined ? recent(handle, filter) : [resolveSession(handle, typed)]
    const prices = await pricesFor(handle, overridesOf(config))
    const lineage = lineageOf(handle, uids, prices)
    const asked = typed === undefined ? undefined : nodeOf(lineage.nodes, uids[0] as string)?.session_uid
    const ids = shortIds(
      handle,
      lineage.nodes.map((node) => node.session_uid),
    )
    return { ...lineage, document: lineageDocument(lineage, asked), ids, asked, isPriced: true }
  })

/** The flavor of what only lineage logs tell. */
const LOG = 'lineage'

function recent(handle: Reader, filter: ListOptions): string[] {
  const found = listSessions(handle, filter)
  const isLogAsked = filter.repo === undefined && filter.host === undefined && (filter.flavor ?? LOG) === LOG
  const named = isLogAsked ? loggedUids(handle, filter.limit ?? 0, filter.sinceAt) : []
  if (found.length + named.length === 0) refuseUnknown(handle, filter)
  return [...found.map((session) => session.session_uid), ...named]
}

function draw(lineage: Answer, options: LineageCommand): string {
  if (options.json) return `${JSON.stringify(lineage.document, null, 2)}\n`
  if (options.dot) return toDot(lineage.nodes)
  if (lineage.nodes.length === 0) return 'no session matches; recollect sweep reads what agents left\n'
  return `${inLocale(foldText(treeLines(lineage).join('\n'), outputWidth(), 4))}\n`
}

const WORDS: Record<LineageEdge['kind'], string> = {
  created: 'created',
  compacted: 'compacted',
  swapped: 'swapped',
  cleared: 'cleared',
  interactive_fork: 'fork',
  bg_fork: 'background fork',
  resumed: 'resume',
  subagent: 'sub',
  handoff: 'handed off',
}

/** Deeper than this the lines would leave the screen: the depth is told as a number. */
const MAX_INDENT = 16

function treeLines({ nodes, ids, asked, isPriced }: Answer): string[] {
  const lines: string[] = []
  // Whether a level has more to come below the node at hand, from the last node upwards.
  const more: boolean[] = []
  const branches = nodes.toReversed().map((node) => {
    const isLast = !more[node.depth]
    more.length = node.depth + 1
    more[node.depth] = true
    const levels = Array.from({ length: Math.max(0, node.depth - 1) }, (_, level) => more[level + 1] ?? false)
    return { isLast, open: levels }
  })
  for (const [at, node] of nodes.entries()) {
    const { isLast, open } = branches[nodes.length - 1 - at] as { isLast: boolean; open: boolean[] }
    const shown = open.slice(-MAX_INDENT).map((isOpen) => (isOpen ? '│  ' : '   '))
    const indent = (open.length > MAX_INDENT ? `(${node.depth}) ` : '') + shown.join('')
    const branch = node.depth === 0 ? '' : `${indent}${isLast ? '└─ ' : '├─ '}`
    const start = `${branch}${edgeText(node.edge)}`
    const end = node.session_uid === asked ? '  ◀' : ''
    lines.push(`${start}${nodeText(node, { ids, isPriced }, outputWidth() - widthOf(start + end))}${end}`)
    const below = node.depth === 0 ? '' : `${indent}${isLast ? '   ' : '│  '}`
    const hasChildren = nodes[at + 1]?.parent_uid === node.session_uid
    for (const [index, { agent, events }] of node.agents.entries()) {
      const hasMore = hasChildren || index < node.agents.length - 1
      lines.push(`${below}${hasMore ? '├─ ' : '└─ '}sub  ${printable(agent)}  ${plural(events, 'event')}`)
    }
  }
  return lines
}

const edgeText = (edge: LineageEdge | null): string =>
  edge === null ? '' : `${WORDS[edge.kind]}${edge.source === 'concluded' ? ' (same beginning)' : ''} → `

const TITLE = 48
/** A shorter title tells nothing: then the tokens go. */
const LEAST_TITLE = 20

/** In one line as far as it goes: the title gives way first. */
function nodeText(node: LineageNode, setting: Pick<Answer, 'ids' | 'isPriced'>, width: number): string {
  const { ids } = setting
  const id = ids.get(node.session_uid) ?? node.session_uid
  const name = oneLine(id.startsWith(`${node.flavor}:`) ? id : `${id} ${node.flavor}`)
  const tokens = node.total_tokens > 0 ? `${formatCount(node.total_tokens)} tokens` : ''
  const facts = factsOf(node, setting)
  const title = oneLine(node.title ?? node.first_prompt)
  const line = (...more: string[]): string =>
    [name, ...more, ...facts].filter((part) => part !== '').join('  ')
  if (title === '') return line(tokens)
  // A gap and two quotation marks.
  const room = (text: string): number => Math.min(TITLE, width - widthOf(text) - 4)
  const shown = room(line(tokens)) < LEAST_TITLE ? '' : tokens
  return line(`"${cut(title, Math.max(LEAST_TITLE, room(line(shown))))}"`, shown)
}

function factsOf(node: LineageNode, { ids, isPriced }: Pick<Answer, 'ids' | 'isPriced'>): string[] {
  const parts: string[] = []
  if (node.started_at) parts.push(formatTime(node.started_at))
  if (node.cost_usd !== null) parts.push(shortUsd(unitsOf(node.cost_usd)))
  else if (isPriced && node.total_tokens > 0) parts.push('$?')
  if (node.outcome !== 'unknown') parts.push(OUTCOME_WORDS[node.outcome])
  if (node.compactions > 0) parts.push(`compacted ${node.compactions}×`)
  for (const edge of node.other_edges) parts.push(otherText(edge, ids))
  if (node.commits.length > 0) parts.push(`commit ${node.commits.slice(-3).join(' ')}`)
  if (node.state === 'evicted') parts.push(`[evicted ${formatDay(node.evicted_at ?? 0)}]`)
  if (node.state === 'named') parts.push('[only named, never read]')
  if (node.state === 'unknown') parts.push('[unknown: never read]')
  return parts
}

/** A log says `cleared` of the session that ended; a session's own file says it of the one that began afterwards. */
function otherText(edge: LineageEdge, ids: ReadonlyMap<string, string>): string {
  if (edge.kind === 'created') return ''
  if (edge.kind === 'cleared') return edge.source === 'logged' ? 'ended by clear' : 'began with clear'
  if (edge.kind === 'resumed' && edge.parent_uid === null)
    return `resumed ${edge.at ? formatTime(edge.at) : ''}`.trim()
  const from = edge.parent_uid === null ? '' : ` from ${oneLine(ids.get(edge.parent_uid) ?? edge.parent_uid)}`
  return `also ${WORDS[edge.kind]}${from}`
}

const quoted = (...lines: string[]): string =>
  `"${lines.map((text) => printable(text).replaceAll('\\', '\\\\').replaceAll('"', '\\"')).join('\\n')}"`

function toDot(nodes: readonly LineageNode[]): string {
  const lines = ['digraph lineage {', '  rankdir=LR', '  node [shape=box]']
  for (const node of nodes) {
    const label = [node.title ?? node.session_uid, node.flavor, node.state === 'here' ? '' : node.state]
    const style = node.state === 'here' ? '' : ', style=dashed'
    lines.push(`  ${quoted(node.session_uid)} [label=${quoted(...label.filter(Boolean))}${style}]`)
  }
  for (const { session_uid, edge } of nodes)
    if (edge?.parent_uid)
      lines.push(`  ${quoted(edge.parent_uid)} -> ${quoted(session_uid)} [label=${quoted(WORDS[edge.kind])}]`)
  return `${[...lines, '}'].join('\n')}\n`
}
