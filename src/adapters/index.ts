// The agents there are, in the order they are asked. To add one is to add its folder and one line here: names, hooks, MCP
// clients, providers and commands to resume are read from the declarations.
import type { Agent } from './agent.ts'
import { agent as amp } from './amp/agent.ts'
import { agent as claude } from './claude/agent.ts'
import { agent as cline } from './cline/agent.ts'
import { agent as codex } from './codex/agent.ts'
import { agent as continues } from './continue/agent.ts'
import { agent as copilot } from './copilot/agent.ts'
import { agent as crush } from './crush/agent.ts'
import { agent as cursor } from './cursor/agent.ts'
import { agent as droid } from './droid/agent.ts'
import { agent as entire } from './entire/agent.ts'
import { agent as gemini } from './gemini/agent.ts'
import { agent as goose } from './goose/agent.ts'
import { agent as grok } from './grok/agent.ts'
import { agent as kilo } from './kilo/agent.ts'
import { agent as kimi } from './kimi/agent.ts'
import { agent as letta } from './letta/agent.ts'
import { agent as lineage } from './lineage/agent.ts'
import { agent as omp } from './omp/agent.ts'
import { agent as opencode } from './opencode/agent.ts'
import { agent as pi } from './pi/agent.ts'
import { agent as qwen } from './qwen/agent.ts'
import { agent as run } from './run/agent.ts'
import { agent as turns } from './turns/agent.ts'

export const ADAPTERS: readonly Agent[] = [
  claude,
  codex,
  grok,
  amp,
  cline,
  continues,
  copilot,
  crush,
  cursor,
  droid,
  gemini,
  goose,
  kilo,
  kimi,
  letta,
  omp,
  opencode,
  pi,
  qwen,
  entire,
  run,
  turns,
  lineage,
]

/** What people call an agent. */
export const agentTitle = (flavor: string): string =>
  ADAPTERS.find((one) => one.flavor === flavor)?.title ?? flavor
