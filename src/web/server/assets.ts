// The files of the page, read once. They are looked up by name in a fixed list: no path that is asked for ever reaches
// the file system.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { RecollectError } from '../../errors.ts'
import { type Here, MEMORY } from './here.ts'

const TYPES: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

export interface Assets {
  /** The document, which holds the token, what the memory held when it was sent, and what the page is of. */
  document(pageToken: string, memoryVersion: string, here?: Here): string
  file(name: string): { body: string; type: string } | undefined
}

/** Beside the program once it is built; below dist/ when it runs from its sources. */
function pageDirectory(): string {
  const places = [
    join(import.meta.dirname, 'page'),
    join(import.meta.dirname, '..', '..', '..', 'dist', 'page'),
  ]
  const found = places.find((place) => existsSync(join(place, 'index.html')))
  if (found) return found
  throw new RecollectError('NOT_FOUND', 'the page was not built', {
    where: places[0] as string,
    hint: 'npm run build',
  })
}

export function loadAssets(): Assets {
  const directory = pageDirectory()
  const document = readFileSync(join(directory, 'index.html'), 'utf8')
  const files = new Map<string, { body: string; type: string }>()
  for (const name of readdirSync(directory)) {
    const type = TYPES[extname(name)]
    if (type) files.set(name, { body: readFileSync(join(directory, name), 'utf8'), type })
  }
  return {
    document: (pageToken, memoryVersion, here = MEMORY) =>
      document
        .replace('PAGE_TOKEN', pageToken)
        .replace('MEMORY_VERSION', memoryVersion)
        .replace('WHAT_IS_HERE', () => encodeURIComponent(JSON.stringify(here))),
    file: (name) => files.get(name),
  }
}
