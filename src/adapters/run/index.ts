// Runs written by `RunTranscript` or the Go program whose format it keeps (docs/formats/run.md). README.md has the decisions.
import type { Adapter } from '../adapter.ts'
import { read } from './parse.ts'
import { claim, FLAVOR, roots } from './paths.ts'

export const run: Adapter = { flavor: FLAVOR, version: 4, roots, claim, read }
