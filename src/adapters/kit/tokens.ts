// Token counts in the shapes that providers and clients write, made disjoint: input without what was cached, output with
// what was thought. What is no number counts as none; NaN and negative counts were seen in the field.
import type { Tokens } from '../../model.ts'
import { type Fields, fields, num } from './guards.ts'

/** A whole number from 0 on. */
export const tokenCount = (value: unknown): number => Math.max(0, Math.trunc(num(value) ?? 0))

export interface Counts {
  input?: unknown
  cacheRead?: unknown
  /** Written to the cache for five minutes, or for a time nobody told; and for an hour. */
  cacheWrite?: unknown
  cacheWrite1h?: unknown
  output?: unknown
  reasoning?: unknown
}

export interface Overlaps {
  /** What was read from, and written to, the cache is a part of `input`. */
  inputHasCache?: boolean
  /** `reasoning` is not a part of `output`. */
  outputLacksReasoning?: boolean
}

/** Any client's counts, by what is a part of what. */
export function disjointTokens(counts: Counts, overlaps: Overlaps = {}): Tokens {
  const cacheRead = tokenCount(counts.cacheRead)
  const cacheWrite5m = tokenCount(counts.cacheWrite)
  const cacheWrite1h = tokenCount(counts.cacheWrite1h)
  const cached = overlaps.inputHasCache ? cacheRead + cacheWrite5m + cacheWrite1h : 0
  const reasoning = tokenCount(counts.reasoning)
  return {
    input: Math.max(0, tokenCount(counts.input) - cached),
    cacheRead,
    cacheWrite5m,
    cacheWrite1h,
    output: tokenCount(counts.output) + (overlaps.outputLacksReasoning ? reasoning : 0),
    reasoning,
  }
}

/** Counts as clients name them that have several providers: `inputTokens`, `cacheReadTokens` … */
export const namedTokens = (usage: Fields, overlaps: Overlaps = {}): Tokens =>
  disjointTokens(
    {
      input: usage['inputTokens'],
      cacheRead: usage['cacheReadTokens'],
      cacheWrite: usage['cacheWriteTokens'] ?? usage['cacheCreationTokens'],
      output: usage['outputTokens'],
      reasoning: usage['reasoningTokens'],
    },
    overlaps,
  )

/** `usage` of the Messages API. */
export function anthropicTokens(usage: Fields): Tokens {
  const written = fields(usage['cache_creation'])
  const cacheWrite1h = tokenCount(written['ephemeral_1h_input_tokens'])
  // Some clients wrote a total of 0 beside a correct breakdown.
  const all = Math.max(
    tokenCount(usage['cache_creation_input_tokens']),
    tokenCount(written['ephemeral_5m_input_tokens']) + cacheWrite1h,
  )
  return disjointTokens({
    input: usage['input_tokens'],
    cacheRead: usage['cache_read_input_tokens'],
    cacheWrite: all - cacheWrite1h,
    cacheWrite1h,
    output: usage['output_tokens'],
    reasoning: fields(usage['output_tokens_details'])['thinking_tokens'],
  })
}

/** `usage` of chat completions (`prompt_tokens`) and of the Responses API (`input_tokens`). */
export function openaiTokens(usage: Fields): Tokens {
  const input = fields(usage['prompt_tokens_details'] ?? usage['input_tokens_details'])
  const output = fields(usage['completion_tokens_details'] ?? usage['output_tokens_details'])
  return disjointTokens(
    {
      input: usage['prompt_tokens'] ?? usage['input_tokens'],
      cacheRead: input['cached_tokens'],
      output: usage['completion_tokens'] ?? usage['output_tokens'],
      reasoning: output['reasoning_tokens'],
    },
    { inputHasCache: true },
  )
}

/** `usageMetadata` of the Gemini API: what a tool sent back in is input too, and thoughts are told apart from the answer. */
export function geminiTokens(usage: Fields): Tokens {
  return disjointTokens(
    {
      input: tokenCount(usage['promptTokenCount']) + tokenCount(usage['toolUsePromptTokenCount']),
      cacheRead: usage['cachedContentTokenCount'],
      output: usage['candidatesTokenCount'],
      reasoning: usage['thoughtsTokenCount'],
    },
    { inputHasCache: true, outputLacksReasoning: true },
  )
}
