// The adapters there are, in the order they are asked.
import type { Adapter } from './adapter.ts'
import { claude } from './claude/index.ts'
import { codex } from './codex/index.ts'
import { entire } from './entire/index.ts'
import { grok } from './grok/index.ts'
import { lineage } from './lineage/index.ts'
import { run } from './run/index.ts'
import { turns } from './turns/index.ts'

export const ADAPTERS: readonly Adapter[] = [claude, codex, grok, entire, run, turns, lineage]
