// Writes Codex rollouts by hand, for the cases the real sessions do not hold.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { EventItem, Item } from '../../src/adapters/adapter.ts'
import { codex } from '../../src/adapters/codex/index.ts'

export type Json = Record<string, unknown>

const base = mkdtempSync(join(tmpdir(), 'recollect-codex-'))
process.on('exit', () => rmSync(base, { recursive: true, force: true }))

/** An empty CODEX_HOME, removed when the tests end. */
export const newHome = (): string => mkdtempSync(join(base, 'home-'))

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
