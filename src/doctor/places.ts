// Where agents' files are looked for, and whether anything is there.
import { existsSync, readdirSync } from 'node:fs'
import type { Environment } from '../adapters/adapter.ts'
import { ADAPTERS } from '../adapters/index.ts'
import type { Config } from '../config.ts'

export interface Place {
  flavor: string
  path: string
  exists: boolean
}

/** Every directory a sweep would look in. */
export function places(config: Config, env: Environment = process.env): Place[] {
  const more = config.get('sources') as Record<string, { roots?: unknown }>
  return ADAPTERS.flatMap((adapter) => {
    const own = more[adapter.flavor]?.roots
    const roots = [...adapter.roots(env), ...(Array.isArray(own) ? own.map(String) : [])]
    return [...new Set(roots)].map((path) => ({ flavor: adapter.flavor, path, exists: hasEntries(path) }))
  })
}

function hasEntries(path: string): boolean {
  try {
    return existsSync(path) && readdirSync(path).length > 0
  } catch {
    return existsSync(path)
  }
}
