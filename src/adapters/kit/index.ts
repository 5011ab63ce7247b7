// What adapters are built from, for this repository and for plugins (`recollect/adapters`). docs/adding-an-agent.md shows how.
export { editsIn } from '../../event/edits.ts'
export type { Deed, EndState, EventKind, Mark, Tokens } from '../../model.ts'
export type {
  Act,
  Adapter,
  EdgeItem,
  Environment,
  EventItem,
  GapItem,
  Item,
  LazyAdapter,
  Position,
  Read,
  SessionItem,
  Source,
  SupersedeItem,
  SweepMemo,
  UsageItem,
} from '../adapter.ts'
export type { Agent } from '../agent.ts'
export { numbered, remember } from './bounded.ts'
export {
  askDatabase,
  bounded,
  type DatabaseReader,
  type ForeignDatabase,
  jsonIn,
  jsonRows,
  listIn,
  type Marked,
  type Row,
  readDatabase,
  readSessionTables,
  rowGap,
  type SessionTables,
} from './database.ts'
export { jsonBeside, readDocument, textBeside } from './document.ts'
export { edgeItem, factsItems, usageItem, usageItems } from './facts.ts'
export { type Fields, fields, fieldsIn, isRecord, list, num, str, time } from './guards.ts'
export { type Line, readLines } from './lines.ts'
export { newMemo } from './memo.ts'
export { compaction, INTERRUPT, type Message, messageEvents, type Note, noteEvent } from './messages.ts'
export { type CallPart, otherPart, type Part, partsOf, type ResultPart, toolCall } from './parts.ts'
export { configFolder, databaseSource, dataFolder, hasFolders, homeFolder, lastParts } from './paths.ts'
export { messageOf, type Speaker, speakerOf } from './shapes.ts'
export { contentText, firstLine, hashOf, leaves, wordList, wordSet } from './text.ts'
export { newThread, recordName, sharedName, type Thread } from './thread.ts'
export {
  anthropicTokens,
  type Counts,
  disjointTokens,
  geminiTokens,
  namedTokens,
  type Overlaps,
  openaiTokens,
  tokenCount,
} from './tokens.ts'
export { exitCodeIn, type Tools, toolsBy } from './tools.ts'
