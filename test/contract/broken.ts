// The bytes of every broken file of test/corpus, each content once.
import { hash } from 'node:crypto'
import { lstatSync, readFileSync } from 'node:fs'
import { filesBelow } from '../setup/collect.ts'
import { BrokenHome, caseNames } from '../setup/corpus.ts'
import { IS_LONG } from '../setup/long.ts'

/** Not what stands in the file is broken, but what stands in its place, or its name. */
const PLACES = ['not-files', 'odd-names', 'symlinks', 'unreadable']
/** Take seconds to make; the real program reads them under a meter (75-sweep-broken). */
const LARGE = ['huge-line', 'large-lines', 'many-values']
const MAX_BYTES = IS_LONG ? 64 << 20 : 2 << 20

let made: Promise<Buffer[]> | undefined

export function brokenContents(): Promise<Buffer[]> {
  made ??= make()
  return made
}

async function make(): Promise<Buffer[]> {
  const contents = new Map<string, Buffer>()
  for (const name of caseNames) {
    if (PLACES.includes(name) || (LARGE.includes(name) && !IS_LONG)) continue
    const broken = new BrokenHome(name)
    await broken.build()
    for (const path of filesBelow(broken.home)) {
      if (lstatSync(path).size > MAX_BYTES) continue
      const bytes = readFileSync(path)
      contents.set(hash('sha1', bytes, 'hex'), bytes)
    }
    broken.remove()
  }
  return [...contents.values()]
}
