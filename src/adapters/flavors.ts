// The names of the adapters, for those who check or complete a name without reading a file.

export const FLAVORS = ['claude', 'codex', 'grok', 'entire', 'run', 'turns', 'lineage'] as const

/** Whose models an agent talks to, by the names of the OpenTelemetry conventions; others are not known. */
export const PROVIDERS: Readonly<Record<string, string>> = {
  claude: 'anthropic',
  codex: 'openai',
  grok: 'x_ai',
}
