// The write side, for agents that record themselves. Loads node:*, zod and, at the first append, the lock addon.
export { ERROR_CODES, type ErrorCode, RecollectError } from '../errors.ts'
export type { Appended, Flush } from '../files/append.ts'
export type { GapReason, JsonlGap } from '../files/jsonl.ts'
export {
  type AccumulatedMessage,
  accumulateMessage,
  type ContentBlock,
  MessageAccumulator,
  type MessageUsage,
  type StreamChunk,
  type StreamError,
} from './anthropic-stream.ts'
export { EntireTranscript, type EntireTranscriptOptions, newEntireSessionId } from './entire.ts'
export { EntireBlock, EntireContent, EntireLine, type EntireResponse, EntireUsage } from './entire-line.ts'
export { type EntireReadOptions, readEntireTranscript } from './entire-read.ts'
export { SessionHistory, type SessionHistoryOptions } from './lineage.ts'
export {
  readSessionHistory,
  SessionHistoryEvent,
  SessionHistoryEventType,
  type WrittenSessionEvent,
} from './lineage-event.ts'
export type { SessionGitOptions } from './lineage-git.ts'
export {
  buildSessionTree,
  renderSessionTree,
  type SessionNode,
  type SessionTree,
  type SessionTreeProblem,
} from './lineage-tree.ts'
export type { ReadOptions } from './read.ts'
export { type RunStartOptions, RunTranscript, type RunWriterOptions } from './run.ts'
export { buildRunId, type ParsedRunId, parseRunId, type RunIdParts } from './run-id.ts'
export { listRuns, type RunFilter, RunSummary, rebuildRunIndex, searchRuns } from './run-index.ts'
export { loadRun } from './run-load.ts'
export { RunMeta, RunRole, RunStatus, RunToolCall, RunTranscriptFile, RunTurn } from './run-model.ts'
export { saveRun } from './run-save.ts'
export { TranscriptEntry, TranscriptWriter, type TranscriptWriterOptions, TurnRole } from './turns.ts'
