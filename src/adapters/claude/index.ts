// The adapter with its reader, for those who read files by themselves.
import type { Adapter } from '../adapter.ts'
import { agent } from './agent.ts'
import { read } from './parse.ts'

export const claude: Adapter = { ...agent, read }
