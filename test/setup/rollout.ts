// Writes Codex rollouts by hand, for the cases the real sessions do not hold.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { EventItem, Item, UsageItem } from '../../src/adapters/adapter.ts'
import { codex } from '../../src/adapters/codex/index.ts'
import { temporary } from './temporary.ts'

export type Json = Record<string, unknown>

/** An empty CODEX_HOME, removed when the tests end. */
export const newHome = (): string => temporary('codex')

export const jsonl = (records: unknown[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('')

export function writeRollout(
  home: string,
  name: string,
  content: string | Uint8Array,
  folder = 'sessions',
): string {
  const path = join(home, folder, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
  return path
}

export function itemsOf(path: string): Item[] {
  const source = codex.claim(path)
  if (!source) throw new Error('not claimed')
  return [...codex.read(source, null)].filter((item) => item.type !== 'position')
}

export const eventsOf = (items: Item[]): EventItem[] => items.filter((item) => item.type === 'event')

/** A clock for records: each call is later by `step` milliseconds. */
export function clock(start: string, step: number): () => string {
  let now = Date.parse(start)
  return () => {
    now += step
    return new Date(now).toISOString()
  }
}

/** A zstd frame of raw blocks: what a decompressor must read, without a compressor to make it. */
export function zstdFrame(data: Buffer): Buffer {
  const parts: Buffer[] = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58])]
  const BLOCK = 100_000
  for (let at = 0; at === 0 || at < data.length; at += BLOCK) {
    const block = data.subarray(at, at + BLOCK)
    const header = Buffer.alloc(3)
    header.writeUIntLE((block.length << 3) | (at + BLOCK >= data.length ? 1 : 0), 0, 3)
    parts.push(header, block)
  }
  return Buffer.concat(parts)
}

export const THREAD = '01999999-0000-7000-8000-000000000001'

export const nameOf = (thread: string): string => `2026/01/02/rollout-2026-01-02T03-04-05-${thread}.jsonl`

const now = clock('2026-01-02T03:04:05Z', 10)
export const line = (type: string, payload: Json, more: Json = {}): Json => ({
  timestamp: now(),
  type,
  payload,
  ...more,
})
export const meta = (id: string, more: Json = {}): Json =>
  line('session_meta', { id, cwd: '/w', cli_version: '0.90.0', ...more })
export const item = (payload: Json): Json => line('response_item', payload)
export const said = (text: string): Json =>
  item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] })
export const asked = (text: string): Json =>
  item({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] })
export const told = (type: string, more: Json): Json => line('event_msg', { type, ...more })
export const counted = (total: number[], last: number[]): Json => {
  const usage = ([input, cached, output, all]: number[]): Json => ({
    input_tokens: input,
    cached_input_tokens: cached,
    output_tokens: output,
    reasoning_output_tokens: 0,
    total_tokens: all,
  })
  return told('token_count', { info: { total_token_usage: usage(total), last_token_usage: usage(last) } })
}

export function read(records: Json[], name = nameOf(THREAD)) {
  const items = itemsOf(writeRollout(newHome(), name, jsonl(records)))
  const usage = items.filter((one): one is UsageItem => one.type === 'usage')
  return { items, events: eventsOf(items), usage }
}

export const texts = (events: { kind: string; said?: string }[], kind: string) =>
  events.filter((event) => event.kind === kind).map((event) => event.said)
