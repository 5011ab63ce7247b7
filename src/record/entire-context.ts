// The text of context.md: who, with which model, since when, and what the agent did. Read back from full.jsonl, so a
// session that was continued by another process is told whole.
import { readEntireTranscript } from './entire-read.ts'

const MAX_VALUE_CHARS = 200

export async function contextOf(path: string, sessionId: string, model: string | undefined): Promise<string> {
  const actions: string[] = []
  let startedAt: string | undefined
  let usedModel = model
  let gapCount = 0
  const onGap = (): void => {
    gapCount++
  }
  for await (const line of readEntireTranscript(path, { onGap })) {
    startedAt ??= line.timestamp
    if (line.type !== 'assistant' || typeof line.message.content === 'string') continue
    if (model === undefined) usedModel = line.message.model ?? usedModel
    for (const block of line.message.content) {
      if (block.type === 'tool_use') actions.push(action(block['name'], block['input']))
    }
  }
  const header = [
    '# Session Context',
    `**Session ID:** ${sessionId}`,
    `**Model:** ${oneLine(usedModel ?? 'unknown')}`,
    `**Start Time:** ${startedAt ?? 'unknown'}`,
    '## Key Actions',
  ]
  if (gapCount > 0) header.push(`${gapCount} unreadable part(s) of full.jsonl are not told here.`)
  return `${header.join('\n\n')}\n\n${actions.map((line) => `${line}\n`).join('')}`
}

/** `- **{tool name}**: {value of the first argument}`, on one line whatever the value holds. */
function action(name: unknown, input: unknown): string {
  const first = typeof input === 'object' && input !== null ? Object.values(input)[0] : input
  const value = first === undefined ? '' : typeof first === 'string' ? first : JSON.stringify(first)
  return `- **${oneLine(String(name ?? 'unknown'))}**: ${oneLine(value)}`.trimEnd()
}

function oneLine(text: string): string {
  const flat = text
    .slice(0, MAX_VALUE_CHARS * 4)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  const chars = [...flat]
  const isCut = chars.length > MAX_VALUE_CHARS || text.length > MAX_VALUE_CHARS * 4
  return isCut ? `${chars.slice(0, MAX_VALUE_CHARS).join('')}…` : flat
}
