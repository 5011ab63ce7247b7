// What Entire's own readers do with a full.jsonl, written again from its documented behaviour (entireio/cli, February
// 2026: claudecode/transcript.go, transcript/types.go), independent of our reader.
import { readFileSync } from 'node:fs'

export const SCANNER_LIMIT = 10 * 1024 * 1024

interface GoLine {
  type: string
  uuid: string
  message: Record<string, unknown>
}

/** Fails as a whole when a line fills the scanner's buffer; skips lines that do not decode. */
export function entireParse(path: string): GoLine[] {
  const data = readFileSync(path)
  const lines: GoLine[] = []
  for (let start = 0; start < data.length; ) {
    const at = data.indexOf(10, start)
    const end = at === -1 ? data.length : at
    if (end + 1 - start > SCANNER_LIMIT) throw new Error('bufio.Scanner: token too long')
    try {
      const { type = '', uuid = '', message = {} } = JSON.parse(data.toString('utf8', start, end))
      lines.push({ type, uuid, message })
    } catch {
      // as Entire: malformed lines are skipped
    }
    start = end + 1
  }
  return lines
}

/** Rewind writes type, uuid and message anew; Go's encoder escapes five characters. */
export function entireRewrite(lines: GoLine[]): string {
  return lines
    .map(({ type, uuid, message }) => JSON.stringify({ type, uuid, message }))
    .map((line) =>
      line.replace(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`),
    )
    .map((line) => `${line}\n`)
    .join('')
}

export function entireTokens(lines: GoLine[]): Record<string, number> {
  const byId = new Map<string, Record<string, number>>()
  for (const { type, message } of lines) {
    if (type !== 'assistant' || !message['id']) continue
    const usage = (message['usage'] ?? {}) as Record<string, number>
    // A count that is no integer makes Go refuse the whole message.
    if (Object.values(usage).some((value) => typeof value === 'number' && !Number.isInteger(value))) continue
    const known = byId.get(message['id'] as string)
    if (!known || (usage['output_tokens'] ?? 0) > (known['output_tokens'] ?? 0)) {
      byId.set(message['id'] as string, usage)
    }
  }
  const sum = (key: string): number =>
    [...byId.values()].reduce((total, usage) => total + (usage[key] ?? 0), 0)
  return {
    calls: byId.size,
    input: sum('input_tokens'),
    output: sum('output_tokens'),
    cacheCreation: sum('cache_creation_input_tokens'),
    cacheRead: sum('cache_read_input_tokens'),
  }
}

interface GoBlock {
  type?: unknown
  text?: unknown
  name?: unknown
  input?: Record<string, unknown>
}

/** Go decodes an assistant's content as a list of blocks with these fields as strings, or not at all. */
export function assistantBlocks({ type, message }: GoLine): GoBlock[] {
  if (type !== 'assistant' || !Array.isArray(message['content'])) return []
  const blocks = message['content'] as GoBlock[]
  const decodes = (value: unknown): boolean => value == null || typeof value === 'string'
  return blocks.every((block) => decodes(block.type) && decodes(block.text) && decodes(block.name))
    ? blocks
    : []
}

export function entireModifiedFiles(lines: GoLine[]): string[] {
  const tools = ['Write', 'Edit', 'NotebookEdit', 'mcp__acp__Write', 'mcp__acp__Edit']
  const files = lines
    .flatMap(assistantBlocks)
    .filter((block) => block.type === 'tool_use' && tools.includes(block.name as string))
    .map((block) => block.input?.['file_path'] || block.input?.['notebook_path'])
  return [...new Set(files.filter((file): file is string => typeof file === 'string' && file !== ''))]
}
