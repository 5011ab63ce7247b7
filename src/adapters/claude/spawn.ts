// Joins a sub-agent's file to the call that started it, and tells which of its lines are copies of the main transcript.
// The other file is searched as bytes and remembered for the next sub-agent of the same session: a pure cache.

import { closeSync, fstatSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { RecollectError } from '../../errors.ts'
import { parseLine } from '../../files/jsonl.ts'
import { openForReading, openIfThere, readBeginning } from '../../files/reading.ts'
import type { Item, SweepMemo } from '../adapter.ts'
import { unreadable } from '../kit/companions.ts'
import { isRecord, list, str } from '../kit/guards.ts'
import { MAX_LINE_BYTES, MAX_VALUES } from '../kit/lines.ts'
import { shortHash } from '../kit/text.ts'
import type { Line, Parent } from './line.ts'
import { type Place, sidecarOf } from './paths.ts'

interface Calls {
  path: string
  /** Bytes already searched. */
  searched: number
  /** Call id → event key. */
  keys: Map<string, string>
  /** Sub-agent → call id, as the result of the call tells. */
  agents: Map<string, string>
}

const SIDECAR_BYTES = 64 << 10

/** The event that started the sub-agent; while it is not on disk its call, or the name of the sub-agent in its place. */
export function spawner(path: string, place: Place, session: string, memo: SweepMemo): Parent {
  const sidecar = readSidecar(sidecarOf(path))
  const parentAgent = str(sidecar['parentAgentId']) ?? ''
  const parent = /^[\w-]+$/.test(parentAgent)
    ? join(path, '..', `agent-${parentAgent}.jsonl`)
    : join(place.projectDir, `${session}.jsonl`)
  const calls = callsIn(parent, memo)
  const id = str(sidecar['toolUseId']) ?? calls?.agents.get(place.agent ?? '')
  const key = id === undefined ? undefined : calls?.keys.get(id)
  if (key !== undefined) return { parentKey: key }
  const name = place.run === undefined ? agentName(place.agent ?? '') : runName(place.run)
  return { parentKey: null, parentCall: id ?? name }
}

const agentName = (agent: string): string => `agent:${agent}`
const runName = (run: string): string => `run:${run}`
const promptName = (prompt: string): string => `prompt:${shortHash(prompt)}`

/** A call that starts a sub-agent: while an old version's sub-agent runs, what it was told is the only join. */
export function notePrompt(line: Line, call: string, prompt: string): void {
  const { session } = line.state
  line.items.push({ type: 'alias', session, name: promptName(prompt), of: call, isGuess: true })
}

/** What the model is told of a sub-agent at the end of its answer: in files of sub-agents nothing else names it. */
const SIGNED = /^agentId: ([\w-]+)/gm
const LAUNCHED = /^Run ID: ([\w-]+)/m
const TAIL = 2000

/**
 * The result of such a call names the sub-agent, or the run of a workflow, whose sub-agents are many. One that was gone on
 * with later was started by the first.
 */
export function noteAgent(line: Line, call: string, outcome: unknown, said: string): void {
  const told = isRecord(outcome) ? outcome : {}
  const agent = str(told['agentId']) ?? [...said.slice(-TAIL).matchAll(SIGNED)].at(-1)?.[1]
  const run = str(told['runId']) ?? LAUNCHED.exec(said.slice(-TAIL))?.[1]
  const { session } = line.state
  if (agent) line.items.push({ type: 'alias', session, name: agentName(agent), of: call })
  if (run) line.items.push({ type: 'alias', session, name: runName(run), of: call })
}

/** The first line of a sub-agent's file: what it was told. */
export function noteTold(line: Line, text: string | undefined): void {
  const { agent, kind } = line.reader.place
  const isFirst =
    kind === 'agent' && line.isSidechain && line.uuid !== undefined && !line.record['parentUuid']
  if (!isFirst || agent === undefined || text === undefined) return
  const { session } = line.state
  line.items.push({ type: 'alias', session, name: agentName(agent), of: promptName(text), isGuess: true })
}

/** Something else than a file in its place, or one that may not be read. That it is not there, or half written, is no gap. */
export function* sidecarGap(path: string): Generator<Item> {
  const sidecar = sidecarOf(path)
  try {
    const fd = openIfThere(sidecar)
    if (fd !== undefined) closeSync(fd)
  } catch (error) {
    yield unreadable(sidecar, error)
  }
}

function readSidecar(path: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(readBeginning(path, SIDECAR_BYTES).bytes.toString('utf8'))
    return isRecord(parsed) ? parsed : {}
  } catch {
    // Absent in old versions, half-written while the sub-agent runs: it is read again when it changes.
    return {}
  }
}

function callsIn(path: string, memo: SweepMemo): Calls | undefined {
  const last = memo.get<{ known?: Calls }>('claude calls', () => ({}))
  const calls =
    last.known?.path === path ? last.known : { path, searched: 0, keys: new Map(), agents: new Map() }
  const searched = eachLine(path, calls.searched, (line) => {
    if (NEEDLES.some((needle) => line.includes(needle))) noteCalls(calls, line)
  })
  if (searched === undefined) return undefined
  calls.searched = searched
  last.known = calls
  return calls
}

const NEEDLES = ['"name":"Agent"', '"name":"Task"', '"agentId":"'].map((text) => Buffer.from(text))

function noteCalls(calls: Calls, line: Buffer): void {
  for (const item of parseLine(line, 1, true, false, MAX_VALUES)) {
    if (!('record' in item)) continue
    const { record } = item
    const uuid = str(record['uuid'])
    const message = record['message']
    if (uuid === undefined || !isRecord(message)) continue
    const outcome = record['toolUseResult']
    const agent = isRecord(outcome) ? str(outcome['agentId']) : undefined
    for (const [index, block] of list(message['content']).entries()) {
      if (!isRecord(block)) continue
      const id = str(block['id'])
      if (block['type'] === 'tool_use' && id !== undefined) calls.keys.set(id, `${uuid}#${index}`)
      const answered = str(block['tool_use_id'])
      if (agent !== undefined && answered !== undefined && !calls.agents.has(agent))
        calls.agents.set(agent, answered)
    }
  }
}

interface Main {
  path: string
  searched: number
  uuids: Set<string>
}

/** The uuids of a session's main transcript. */
export function mainUuids(projectDir: string, session: string, memo: SweepMemo): Set<string> {
  const last = memo.get<{ known?: Main }>('claude main', () => ({}))
  const path = join(projectDir, `${session}.jsonl`)
  const main = last.known?.path === path ? last.known : { path, searched: 0, uuids: new Set<string>() }
  const searched = eachLine(path, main.searched, (line) => {
    // The line's own uuid is the last or the only one at the top; collecting all of them errs on the side of a copy.
    for (const match of line.toString('latin1').matchAll(/"uuid":\s*"([\w-]+)"/g))
      main.uuids.add(match[1] as string)
  })
  main.searched = searched ?? 0
  last.known = main
  return main.uuids
}

const CHUNK_BYTES = 1 << 20

/** Calls `visit` with each finished line from `from` on; returns where the last one ended, or undefined without a file. */
function eachLine(path: string, from: number, visit: (line: Buffer) => void): number | undefined {
  let fd: number
  try {
    fd = openForReading(path)
  } catch (error) {
    // A sub-agent may outlive its main transcript.
    if (error instanceof RecollectError) return undefined
    throw error
  }
  try {
    const size = fstatSync(fd).size
    let held: Buffer[] = []
    let offset = from > size ? 0 : from
    let ended = offset
    while (offset < size) {
      const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - offset))
      const count = readSync(fd, chunk, 0, chunk.length, offset)
      if (count === 0) break
      let start = 0
      for (let at = chunk.indexOf(10); at !== -1 && at < count; at = chunk.indexOf(10, start)) {
        const piece = chunk.subarray(start, at)
        visit(held.length > 0 ? Buffer.concat([...held, piece]) : piece)
        held = []
        start = at + 1
        ended = offset + start
      }
      if (start < count) held.push(chunk.subarray(start, count))
      if (held.length * CHUNK_BYTES > MAX_LINE_BYTES) held = []
      offset += count
    }
    return ended
  } finally {
    closeSync(fd)
  }
}
