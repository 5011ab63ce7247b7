// Transcripts in Entire's layout: Recollect's own, and copies of whatever agent Entire watched. README.md has the decisions.
import type { Adapter } from '../adapter.ts'
import { read } from './parse.ts'
import { claim, FLAVOR, roots } from './paths.ts'

export const entire: Adapter = { flavor: FLAVOR, version: 7, roots, claim, read }
