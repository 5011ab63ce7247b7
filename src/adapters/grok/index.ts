// Sessions of the Grok Build CLI (`grok`, 0.2 to 1.0.41). README.md describes the format as it is read here.
import type { Adapter } from '../adapter.ts'
import { read } from './parse.ts'
import { claim, FLAVOR, roots } from './paths.ts'

export const grok: Adapter = { flavor: FLAVOR, version: 8, roots, claim, read }
