// Session histories written by `SessionHistory` or any program that keeps docs/formats/lineage.md. README.md has the decisions.
import type { Adapter } from '../adapter.ts'
import { read } from './parse.ts'
import { claim, FLAVOR, roots } from './paths.ts'

export const lineage: Adapter = { flavor: FLAVOR, version: 2, roots, claim, read }
