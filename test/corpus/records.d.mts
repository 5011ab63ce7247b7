type Native = Record<string, unknown>
export const CLAUDE_ID: string
export const CLAUDE_PROJECT: string
export const CLAUDE: string
export const CODEX: string
export const GROK: string
export function claude(n: number, text: string, more?: Native): Native
export function codexMeta(): Native
export function grok(n: number, text: string): Native
export function line(record: Native): string
export function put(home: string, path: string, content: string): string
