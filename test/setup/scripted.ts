// Batches made by the real reader from items a test writes down, for a source that is a real file.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Adapter, EventItem, Item, UsageItem } from '../../src/adapters/adapter.ts'
import { newMemo } from '../../src/adapters/kit/memo.ts'
import { createRedactor } from '../../src/redact/index.ts'
import { factsOf } from '../../src/sources/identity.ts'
import { taskFinder } from '../../src/sources/task.ts'
import type { Batch, Cursor } from '../../src/store/batch.ts'
import { Buffers } from '../../src/sweep/buffers.ts'
import { readSource } from '../../src/sweep/reader.ts'

const context = {
  redactor: createRedactor({ key: Buffer.alloc(32, 7) }),
  findTask: taskFinder(['\\b[A-Z]+-\\d+\\b']),
  buffers: new Buffers(),
  memo: newMemo(),
}

export const FLAVOR = 'test'

/** The batches of one read; the file grows by a byte per item, and the position stands at its end. */
export function batchesOf(path: string, items: Item[], known?: Cursor): Batch[] {
  const offset = (known?.offset ?? 0) + items.length
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, 'x'.repeat(offset))
  const adapter: Adapter = {
    flavor: FLAVOR,
    version: 1,
    roots: () => [],
    claim: () => null,
    *read() {
      yield* items
      yield { type: 'position', position: { offset, state: { seen: offset } } }
    },
  }
  const source = { path }
  const facts = factsOf(source)
  if (!facts) throw new Error('the file is not there')
  return [...readSource(adapter, source, { cursor: known, isResumed: known !== undefined }, facts, context)]
}

/** An id that is the same in every session, as forks need it. */
export const uuid = (name: string | number): string =>
  `00000000-0000-4000-8000-${Buffer.from(String(name)).toString('hex').padStart(12, '0').slice(-12)}`

export const event = (session: string, key: string, fields: Partial<EventItem> = {}): EventItem => ({
  type: 'event',
  session,
  key,
  ts: 1_794_000_000_000,
  kind: 'user_msg',
  role: 'user',
  summary: `said ${key}`,
  said: `text of ${key}`,
  payload: { said: key },
  ...fields,
})

export const usage = (
  session: string,
  id: string,
  output: number,
  fields: Partial<UsageItem> = {},
): UsageItem => ({
  type: 'usage',
  session,
  id,
  ts: 1_794_000_000_000,
  model: 'model-1',
  input: 10,
  cacheRead: 3,
  cacheWrite5m: 2,
  cacheWrite1h: 1,
  output,
  reasoning: 0,
  scope: 'response',
  ...fields,
})
