// The command that takes a session up again, where its agent has one.
import { ADAPTERS } from './index.ts'

/**
 * Undefined for agents that cannot, and for ids that a shell would not take as one word, or the agent for an option: whoever
 * writes a transcript chooses the id.
 */
export function resumeCommand(flavor: string, nativeId: string): string | undefined {
  if (!/^\w[\w.@-]*$/.test(nativeId)) return undefined
  return ADAPTERS.find((one) => one.flavor === flavor)?.resume?.(nativeId)
}
