// The command that takes a session up again, where its agent has one.

const COMMANDS: Record<string, (id: string) => string> = {
  claude: (id) => `claude --resume ${id}`,
  codex: (id) => `codex resume ${id}`,
  grok: (id) => `grok --resume ${id}`,
}

/** Undefined for agents that cannot, and for ids that a shell would not take as one word. */
export function resumeCommand(flavor: string, nativeId: string): string | undefined {
  return /^[\w.-]+$/.test(nativeId) ? COMMANDS[flavor]?.(nativeId) : undefined
}
