// Turn logs written by `TranscriptWriter` or any program that keeps docs/formats/turns.md. README.md has the decisions.
import type { Adapter } from '../adapter.ts'
import { read } from './parse.ts'
import { claim, FLAVOR, roots } from './paths.ts'

export const turns: Adapter = { flavor: FLAVOR, version: 3, roots, claim, read }
