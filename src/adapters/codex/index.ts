// The adapter with its reader, for those who read files by themselves.
import type { Adapter } from '../adapter.ts'
import { agent } from './agent.ts'
import { read } from './read.ts'

export const codex: Adapter = { ...agent, read }
