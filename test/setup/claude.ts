// Transcripts of Claude Code made by hand, line by line, for the tests of its adapter.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { EventItem, Item, Position } from '../../src/adapters/adapter.ts'
import { claude } from '../../src/adapters/claude/index.ts'
import { temporary } from './temporary.ts'

const base = temporary('claude')

export const SESSION = '11111111-1111-4111-8111-111111111111'
export const OTHER = '22222222-2222-4222-8222-222222222222'
let projectCount = 0
export const newProject = () => join(base, '.claude', 'projects', `-p${projectCount++}`)

export type Fields = Record<string, unknown>

export function write(path: string, records: unknown[]): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(''))
  return path
}

export function readAll(path: string, from: Position | null = null): Item[] {
  const source = claude.claim(path)
  if (!source) throw new Error(`not claimed: ${path}`)
  // The state in a position is alive: each item is looked at as it was when it came.
  return Array.from(claude.read(source, from), (item) => structuredClone(item))
}

export const readRecords = (records: unknown[]) =>
  readAll(write(join(newProject(), `${SESSION}.jsonl`), records))
export const eventsOf = (items: Item[]) => items.filter((item): item is EventItem => item.type === 'event')
export const of = <Type extends Item['type']>(items: Item[], type: Type) =>
  items.filter((item): item is Extract<Item, { type: Type }> => item.type === type)

export const field = (event: EventItem | undefined, name: string) =>
  (event?.payload as Fields | undefined)?.[name]

let clock = Date.parse('2026-11-15T12:00:00Z')
function tick(): string {
  clock += 1000
  return new Date(clock).toISOString()
}
export const line = (uuid: string, parentUuid: string | null, fields: Fields): Fields => ({
  parentUuid,
  isSidechain: false,
  userType: 'external',
  cwd: '/w',
  sessionId: SESSION,
  version: '2.1.325',
  gitBranch: 'main',
  uuid,
  timestamp: tick(),
  ...fields,
})
export const user = (uuid: string, parent: string | null, content: unknown, fields: Fields = {}) =>
  line(uuid, parent, { type: 'user', message: { role: 'user', content }, ...fields })
export const queued = (content: unknown): Fields => ({
  type: 'queue-operation',
  operation: 'enqueue',
  content,
  sessionId: SESSION,
  timestamp: tick(),
})
export const assistant = (
  uuid: string,
  parent: string | null,
  content: unknown[],
  fields: Fields = {},
  message: Fields = {},
) =>
  line(uuid, parent, {
    type: 'assistant',
    message: { id: `msg_${uuid}`, model: 'claude-opus-5-5', role: 'assistant', content, ...message },
    ...fields,
  })
export const text = (words: string) => ({ type: 'text', text: words })
export const call = (id: string, name: string, input: Fields) => ({ type: 'tool_use', id, name, input })
export const result = (id: string, content: unknown, isError = false) => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  is_error: isError,
})
