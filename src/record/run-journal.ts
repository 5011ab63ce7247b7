// The journal of a run under way, `transcript.partial.jsonl`: one line per acknowledged call, from which a killed run is
// rebuilt. Owns the records and their replay; it has no record of the end, because the end is the moment
// `transcript.json` says so.
import { join } from 'node:path'
import { RecollectError } from '../errors.ts'
import { AppendFile, type AppendOptions } from '../files/append.ts'
import { readJsonl } from '../files/jsonl.ts'
import { checkNoLinks } from '../files/paths.ts'
import { JOURNAL } from './file-names.ts'
import { encodeGo, RESTORE } from './go-json.ts'
import { GapReports, type ReadOptions } from './read.ts'
import { DIRECTORY_MODE, FILE_MODE } from './run-files.ts'
import {
  decodeMeta,
  decodeToolCall,
  decodeTurn,
  fields,
  runHead,
  toolCallFields,
  turnFields,
} from './run-json.ts'
import type { RunToolCall, RunTranscriptFile, RunTurn } from './run-model.ts'

const VERSION = 1
const MAX_RECORD_BYTES = 64 << 20
/** Dollars are summed as whole numbers of 10^-12, so that 0.1 + 0.2 is 0.3. */
const COST_DECIMALS = 12
/** Of one record. */
export const MAX_DOLLARS = 1e9

export type RunRecord =
  | { type: 'turn'; turn: RunTurn }
  | { type: 'toolCall'; turnId: number; call: RunToolCall }
  | { type: 'cost'; usd: number }

/** Opens the journal for appending. Each append is one record, flushed as the policy says. */
export function openJournal(directory: string, options: AppendOptions): AppendFile {
  return new AppendFile(join(directory, JOURNAL), {
    ...options,
    fileMode: FILE_MODE,
    directoryMode: DIRECTORY_MODE,
    check: (path) => checkNoLinks(join(directory, '..'), path),
  })
}

export function encodeStart(file: RunTranscriptFile): string {
  return line({ type: 'start', version: VERSION, runId: file.runId, ...runHead(file.metadata) })
}

export function encodeRecord(record: RunRecord): string {
  if (record.type === 'turn') return line({ type: 'turn', turn: turnFields(record.turn) })
  if (record.type === 'cost') return line({ ...record })
  return line({ type: 'toolCall', turnId: record.turnId, call: toolCallFields(record.call) })
}

function line(members: Record<string, unknown>): string {
  const text = encodeGo(fields(members))
  if (Buffer.byteLength(text) <= MAX_RECORD_BYTES) return text
  throw new RecollectError('TOO_LARGE', `a record of more than ${MAX_RECORD_BYTES} bytes`, {
    where: `the ${members['type']}`,
    hint: 'store the content elsewhere and record a reference; nothing was written',
  })
}

/** Adds one record to the transcript. The writer and the replay both go through here. */
export function applyRecord(file: RunTranscriptFile, record: RunRecord): void {
  const { metadata, turns } = file
  if (record.type === 'turn') {
    const tokensIn = metadata.totalTokensIn + (record.turn.tokensIn ?? 0)
    const tokensOut = metadata.totalTokensOut + (record.turn.tokensOut ?? 0)
    if (!Number.isSafeInteger(tokensIn) || !Number.isSafeInteger(tokensOut))
      throw damaged(file.runId, 'tokens that add up to 2^53 or more')
    turns.push(record.turn)
    metadata.totalTokensIn = tokensIn
    metadata.totalTokensOut = tokensOut
  } else if (record.type === 'cost') {
    metadata.totalCost = addDollars(metadata.totalCost, record.usd)
  } else {
    const turn = turns.findLast((one) => one.id === record.turnId)
    if (!turn) throw damaged(file.runId, `a tool call of turn ${record.turnId}, which is lost`)
    turn.toolCalls ??= []
    turn.toolCalls.push(record.call)
  }
}

function addDollars(a: number, b: number): number {
  const units = (usd: number) => BigInt(usd.toFixed(COST_DECIMALS).replace('.', ''))
  const digits = String(units(a) + units(b)).padStart(COST_DECIMALS + 1, '0')
  return Number(`${digits.slice(0, -COST_DECIMALS)}.${digits.slice(-COST_DECIMALS)}`)
}

/** Rebuilds a run from its journal. `snapshot` lends its head should the first record be damaged. Undefined: no run in it. */
export function replayJournal(
  directory: string,
  options: ReadOptions,
  snapshot?: RunTranscriptFile,
): RunTranscriptFile | undefined {
  const path = join(directory, JOURNAL)
  const gaps = new GapReports(path, options)
  let file = snapshot === undefined ? undefined : emptied(snapshot)
  let hasStarted = false
  for (const item of readJsonl(path, { maxLineBytes: options.maxLineBytes ?? MAX_RECORD_BYTES })) {
    if ('gap' in item) {
      gaps.report(item)
      continue
    }
    try {
      if (item.record['type'] === 'start') {
        if (hasStarted) throw damaged(path, 'a second start of the run')
        file = decodeStart(item.record, path)
        hasStarted = true
      } else if (file) applyRecord(file, decodeRecord(item.record, path))
      else throw damaged(path, 'a record before the start of the run')
    } catch (error) {
      if (!(error instanceof RecollectError) || error.code !== 'CORRUPT') throw error
      gaps.report({ gap: 'schema', detail: error.message, offset: item.offset, length: item.length })
    }
  }
  gaps.end()
  return file
}

/** True when the journal holds no whole record: its start was never acknowledged. */
export function isEmptyJournal(directory: string): boolean {
  for (const item of readJsonl(join(directory, JOURNAL))) if ('record' in item) return false
  return true
}

function emptied(snapshot: RunTranscriptFile): RunTranscriptFile {
  const metadata = { ...snapshot.metadata, totalTokensIn: 0, totalTokensOut: 0, totalCost: 0 }
  return { ...snapshot, metadata, turns: [] }
}

function decodeStart(record: Record<string, unknown>, path: string): RunTranscriptFile {
  if (record['version'] !== VERSION) {
    throw new RecollectError('BAD_INPUT', `a journal of version ${record['version']}, not ${VERSION}`, {
      where: path,
      hint: 'read it with the version of recollect that wrote it, or a later one',
    })
  }
  const runId = record['runId']
  if (typeof runId !== 'string') throw damaged(path, 'runId is not a string')
  return { runId, metadata: { ...decodeMeta(record, path), status: 'running' }, turns: [] }
}

function decodeRecord(record: Record<string, unknown>, path: string): RunRecord {
  const { type, turnId, usd } = record
  if (type === 'turn') return { type, turn: decodeTurn(record['turn'], path) }
  if (type === 'cost' && typeof usd === 'number' && usd >= 0 && usd <= MAX_DOLLARS) return { type, usd }
  if (type === 'toolCall' && typeof turnId === 'number') {
    return { type, turnId, call: decodeToolCall(record['call'], path) }
  }
  throw damaged(path, 'a record of unknown type')
}

const damaged = (where: string, what: string): RecollectError =>
  new RecollectError('CORRUPT', what, { where, hint: RESTORE })
