// The agents there are, in the order they are asked. To add one is to add its folder and one line here: names, hooks, MCP
// clients, providers and commands to resume are read from the declarations.
import type { Agent } from './agent.ts'
import { agent as claude } from './claude/agent.ts'
import { agent as codex } from './codex/agent.ts'
import { agent as entire } from './entire/agent.ts'
import { agent as grok } from './grok/agent.ts'
import { agent as lineage } from './lineage/agent.ts'
import { agent as run } from './run/agent.ts'
import { agent as turns } from './turns/agent.ts'

export const ADAPTERS: readonly Agent[] = [claude, codex, grok, entire, run, turns, lineage]
