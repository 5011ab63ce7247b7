// What an adapter makes of files that a test writes.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { AnyAdapter, EventItem, Item, Source } from '../../src/adapters/adapter.ts'
import { withReader } from '../../src/sweep/tasks.ts'
import { temporary } from './temporary.ts'

/** Writes the files below a home of their own, lists as lines, and reads all that is claimed. */
export async function itemsOf(adapter: AnyAdapter, files: Record<string, unknown>): Promise<Item[]> {
  const home = temporary('items')
  const paths = Object.entries(files).map(([name, content]) => {
    const path = join(home, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, textOf(content))
    return path
  })
  return await itemsIn(adapter, paths)
}

export async function itemsIn(adapter: AnyAdapter, paths: readonly string[]): Promise<Item[]> {
  const { claim, read } = await withReader(adapter)
  const sources = paths.map((path) => claim(path)).filter((one): one is Source => one !== null)
  return sources.flatMap((source) => [...read(source, null)].filter((item) => item.type !== 'position'))
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return JSON.stringify(content)
  return content.map((line) => `${JSON.stringify(line)}\n`).join('')
}

/** Events as they are at the end: told again with the same key, the last one holds. */
export const eventsIn = (items: readonly Item[]): EventItem[] => [
  ...new Map(
    items.flatMap((item) => (item.type === 'event' ? [[`${item.session} ${item.key}`, item] as const] : [])),
  ).values(),
]

export const itemsAs = <Type extends Item['type']>(
  items: readonly Item[],
  type: Type,
): Extract<Item, { type: Type }>[] =>
  items.filter((item): item is Extract<Item, { type: Type }> => item.type === type)
