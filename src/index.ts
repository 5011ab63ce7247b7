// The public API of the package root: the write side (also alone at recollect/record) and the memory.

export type { Adapter, Item, LazyAdapter, Position, Source } from './adapters/adapter.ts'
export { ADAPTERS } from './adapters/index.ts'
export { Config } from './config.ts'
export { type DecideOptions, decide, type UndecideOptions, undecide } from './decide.ts'
export type { Digest } from './digest/digest.ts'
export { getDigest, listPatterns, type Pattern, type PatternFilter } from './digest/patterns.ts'
export { type Recall, type Recalled, type RecallOptions, recall } from './digest/recall.ts'
export { type Solved, type SolvedAnswer, solvedBefore } from './digest/solved.ts'
export { type LabelWish, label } from './label.ts'
export {
  type Decision,
  EDGE_KINDS,
  type EdgeKind,
  EVENT_KINDS,
  type EventKind,
  type Note,
  type Outcome,
  type Role,
  SCHEMA_VERSION,
  type Session,
  type SessionCost,
  type SessionEvent,
} from './model.ts'
export { type Answer, type AnsweredSession, type AnswerOptions, answer } from './query/answer.ts'
export { type EventFilter, sessionEvents } from './query/events.ts'
export {
  type Lineage,
  type LineageEdge,
  type LineageNode,
  type LineageProblem,
  lineageOf,
} from './query/lineage.ts'
export {
  type SearchHit,
  type SearchOptions,
  type SessionHits,
  search,
  searchSessions,
} from './query/search.ts'
export {
  getSession,
  type ListOptions,
  listSessions,
  resolveSession,
  type SessionSort,
} from './query/sessions.ts'
export { TimeZone } from './query/timezone.ts'
export { USAGE_GROUPS, type UsageGroup, type UsageReport, type UsageRow, usageReport } from './query/usage.ts'
export * from './record/index.ts'
export { type RetroQuestion, retroReport } from './retro/index.ts'
export { type Period, type PeriodWish, periodOf } from './retro/period.ts'
export type { RetroReport } from './retro/report.ts'
export type { SessionFilter } from './store/reader/filters.ts'
export type { Reader as ReadHandle } from './store/reader/index.ts'
export { openForReading as openMemory, type StorePaths, storePaths } from './store/reading.ts'
export type { SweepProgress } from './store/sweep-lock.ts'
export { type SweepOptions, sweep } from './sweep/index.ts'
export type { SourceReport, SweepReport } from './sweep/report.ts'
export { type Overrides, readOverrides } from './usage/overrides.ts'
export { loadPrices, type PriceBook } from './usage/prices.ts'
