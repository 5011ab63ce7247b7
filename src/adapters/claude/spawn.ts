// Joins a sub-agent's file to the call that started it, and tells which of its lines are copies of the main transcript.
// The other file is searched as bytes and remembered for the next sub-agent of the same session: a pure cache.
import { closeSync, fstatSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { RecollectError } from '../../errors.ts'
import { openForReading, parseLine } from '../../files/jsonl.ts'
import { isRecord, list, str } from '../guards.ts'
import { MAX_LINE_BYTES, MAX_VALUES } from '../lines.ts'
import { type Parent, promptHash } from './line.ts'
import { type Place, sidecarOf } from './paths.ts'

interface Calls {
  path: string
  /** Bytes already searched. */
  searched: number
  /** Call id → event key. */
  keys: Map<string, string>
  /** Sub-agent → call id, as the result of the call tells. */
  agents: Map<string, string>
  /** Hash of a delegated prompt → event key: the only join while an old version's sub-agent still runs. */
  prompts: Map<string, string>
}

let known: Calls | undefined
const SIDECAR_BYTES = 64 << 10

/** The event that started the sub-agent, by its call while it is not on disk; undefined while nothing tells. */
export function spawner(
  path: string,
  place: Place,
  session: string,
  prompt: string | undefined,
): Parent | undefined {
  const sidecar = readSidecar(sidecarOf(path))
  const parentAgent = str(sidecar['parentAgentId']) ?? ''
  const parent = /^[\w-]+$/.test(parentAgent)
    ? join(path, '..', `agent-${parentAgent}.jsonl`)
    : join(place.projectDir, `${session}.jsonl`)
  const calls = callsIn(parent)
  const id = str(sidecar['toolUseId']) ?? calls?.agents.get(place.agent ?? '')
  const key = id === undefined ? calls?.prompts.get(prompt ?? '') : calls?.keys.get(id)
  if (key !== undefined) return { parentKey: key }
  return id === undefined ? undefined : { parentKey: null, parentCall: id }
}

function readSidecar(path: string): Record<string, unknown> {
  let fd: number | undefined
  try {
    fd = openForReading(path)
    const bytes = Buffer.alloc(SIDECAR_BYTES)
    const parsed: unknown = JSON.parse(bytes.toString('utf8', 0, readSync(fd, bytes, 0, SIDECAR_BYTES, 0)))
    return isRecord(parsed) ? parsed : {}
  } catch {
    // Absent in old versions, half-written while the sub-agent runs: it is read again when it changes.
    return {}
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

function callsIn(path: string): Calls | undefined {
  const calls =
    known?.path === path
      ? known
      : { path, searched: 0, keys: new Map(), agents: new Map(), prompts: new Map() }
  const searched = eachLine(path, calls.searched, (line) => {
    if (NEEDLES.some((needle) => line.includes(needle))) noteCalls(calls, line)
  })
  if (searched === undefined) return undefined
  calls.searched = searched
  known = calls
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
      if (block['type'] === 'tool_use' && id !== undefined) {
        calls.keys.set(id, `${uuid}#${index}`)
        const told = isRecord(block['input']) ? str(block['input']['prompt']) : undefined
        if (told !== undefined) calls.prompts.set(promptHash(told), `${uuid}#${index}`)
      }
      const answered = str(block['tool_use_id'])
      if (agent !== undefined && answered !== undefined) calls.agents.set(agent, answered)
    }
  }
}

/** The uuids of a session's main transcript. */
export function mainUuids(projectDir: string, session: string): Set<string> {
  const uuids = new Set<string>()
  eachLine(join(projectDir, `${session}.jsonl`), 0, (line) => {
    // The line's own uuid is the last or the only one at the top; collecting all of them errs on the side of a copy.
    for (const match of line.toString('latin1').matchAll(/"uuid":"([\w-]+)"/g)) uuids.add(match[1] as string)
  })
  return uuids
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
