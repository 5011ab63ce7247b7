// The formats a session can be exported in. Each is a stream of text, so that nothing grows with the session.
import { toAtif } from './atif.ts'
import { toHtml } from './html.ts'
import { toJsonLines } from './jsonl.ts'
import { toMarkdown } from './markdown.ts'
import { toOtlp } from './otlp.ts'
import type { ExportSource } from './source.ts'

export { ExportSource } from './source.ts'

export const EXPORT_FORMATS = ['md', 'html', 'jsonl', 'atif', 'otlp'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

interface Format {
  extension: string
  /** Whether several sessions one behind the other are still a document of this format, and what stands between them. */
  between: string | undefined
  /** Whether sub-agents with a session of their own stand inside it, and are not exported once more. */
  embedsSubagents: boolean
  write: (source: ExportSource) => Iterable<string>
}

export const FORMATS: Record<ExportFormat, Format> = {
  md: { extension: 'md', between: '\n---\n\n', embedsSubagents: true, write: (source) => toMarkdown(source) },
  html: { extension: 'html', between: undefined, embedsSubagents: true, write: toHtml },
  jsonl: { extension: 'jsonl', between: '', embedsSubagents: false, write: toJsonLines },
  atif: { extension: 'json', between: undefined, embedsSubagents: true, write: toAtif },
  otlp: { extension: 'jsonl', between: '', embedsSubagents: true, write: (source) => toOtlp(source) },
}
