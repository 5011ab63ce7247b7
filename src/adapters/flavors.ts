// The names of the adapters, for those who check or complete a name without reading a file.

export const FLAVORS = ['claude', 'codex', 'grok', 'entire', 'run', 'turns', 'lineage'] as const
