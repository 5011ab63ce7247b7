// The agents that hooks can be installed in.
import { integration as claude } from './claude/integration.ts'
import { integration as codex } from './codex/integration.ts'
import { integration as grok } from './grok/integration.ts'
import type { Integration } from './integration.ts'

export const INTEGRATIONS: readonly Integration[] = [claude, codex, grok]
