// Where agents' files are looked for, and whether anything is there.
import { existsSync, readdirSync } from 'node:fs'
import type { Environment } from '../adapters/adapter.ts'
import { ADAPTERS } from '../adapters/index.ts'
import type { Config } from '../config.ts'
import { extraRoots, rootsOf } from '../sources/roots.ts'

export interface Place {
  flavor: string
  path: string
  exists: boolean
}

/** Every directory a sweep would look in, and every database. */
export function places(config: Config, env: Environment = process.env): Place[] {
  const more = extraRoots(config)
  return ADAPTERS.flatMap((adapter) => {
    const isPlace = (path: string): boolean => {
      const source = adapter.claim(path, true)
      return source === null || source.isDatabase === true
    }
    const paths = new Set(rootsOf(adapter, env, more).filter(isPlace))
    return [...paths].map((path) => ({ flavor: adapter.flavor, path, exists: hasEntries(path) }))
  })
}

function hasEntries(path: string): boolean {
  try {
    return existsSync(path) && readdirSync(path).length > 0
  } catch {
    return existsSync(path)
  }
}
