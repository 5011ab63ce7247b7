// The agents that hooks can be installed in.
import { ADAPTERS } from './index.ts'
import type { Integration } from './integration.ts'

export const INTEGRATIONS: readonly Integration[] = ADAPTERS.flatMap(({ flavor, title, integration }) =>
  integration ? [{ flavor, title, ...integration }] : [],
)
