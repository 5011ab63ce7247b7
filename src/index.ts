// The public API of the package root: the write side (also alone at recollect/record) and the memory.

export type { Adapter, Item, Position, Source } from './adapters/adapter.ts'
export { ADAPTERS } from './adapters/index.ts'
export { Config } from './config.ts'
export { type DecideOptions, decide } from './decide.ts'
export {
  type Decision,
  EDGE_KINDS,
  type EdgeKind,
  EVENT_KINDS,
  type EventKind,
  type Outcome,
  type Role,
  SCHEMA_VERSION,
  type Session,
  type SessionCost,
  type SessionEvent,
} from './model.ts'
export { type EventFilter, sessionEvents } from './query/events.ts'
export type { SessionFilter } from './query/filters.ts'
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
export * from './record/index.ts'
export { openForReading as openMemory, type StorePaths, storePaths } from './store/sqlite.ts'
export type { ReadHandle } from './store/store.ts'
export { type SweepOptions, type SweepProgress, sweep } from './sweep/index.ts'
export type { SourceReport, SweepReport } from './sweep/report.ts'
