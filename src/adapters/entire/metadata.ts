// metadata.json of a session in a checkpoint: whose transcript it is, and what Entire found out about it. Tokens in it are
// sometimes a delta and sometimes a total: they stay in the payload and are never counted.
import type { RecollectError } from '../../errors.ts'
import { readBeginning, readWhole } from '../../files/reading.ts'
import type { EventItem, GapItem, SessionItem } from '../adapter.ts'
import { unreadable } from '../kit/companions.ts'
import { isRecord, str, time } from '../kit/guards.ts'
import { firstLine, leaves } from '../kit/text.ts'
import { tellsMore } from './paths.ts'

export type Metadata = Record<string, unknown>

/** Those of checkpoints have some kilobytes. */
const MAX_METADATA_BYTES = 1 << 20

/** Empty where there is none, or none that can be read; a gap names what is in the way. */
export function readMetadata(path: string): { metadata: Metadata; gaps: GapItem[] } {
  try {
    const parsed: unknown = JSON.parse(readWhole(path, MAX_METADATA_BYTES).toString('utf8'))
    return { metadata: isRecord(parsed) ? parsed : {}, gaps: [] }
  } catch (error) {
    // Absent in a project's own directory; half-written: it is read again when it changes.
    const isHarmless = error instanceof SyntaxError || (error as RecollectError).code === 'NOT_FOUND'
    return { metadata: {}, gaps: isHarmless ? [] : [unreadable(path, error)] }
  }
}

const PEEK_BYTES = 4096

/** The model that context.md names: an agent that records itself need not write it anywhere else. */
export function modelInContext(path: string): string | undefined {
  if (!tellsMore(path)) return undefined
  const head = readBeginning(path, PEEK_BYTES).bytes.toString('utf8')
  const model = /(?:^|\n)[^\w\n]*Model:[\s*]*(\S.*)/.exec(head)?.[1]?.trim()
  return model === 'unknown' ? undefined : model
}

/** Branch and model, which some transcripts do not name. */
export function factsIn(metadata: Metadata, session: string): SessionItem | undefined {
  const gitBranch = str(metadata['branch'])
  const model = str(metadata['model'])
  if (!gitBranch && !model) return undefined
  return { type: 'session', session, ...(gitBranch && { gitBranch }), ...(model && { model }) }
}

/** The checkpoint itself, and the summary Entire had a model write. */
export function* checkpointEvents(
  metadata: Metadata,
  session: string,
  parentKey: string | null,
): Generator<EventItem> {
  const id = str(metadata['checkpoint_id'])
  if (!id) return
  const { checkpoint_id: _, session_id: __, summary, ...payload } = metadata
  const ts = time(metadata['created_at'])
  const place = { type: 'event', session, ts, parentKey, role: 'system' } as const
  const key = `checkpoint:${id}`
  yield { ...place, key, kind: 'lifecycle', summary: `checkpoint ${id}`, payload }
  if (!isRecord(summary)) return
  const said = leaves(summary)
  const told = str(summary['outcome']) || str(summary['intent']) || ''
  yield {
    ...place,
    key: `${key}:summary`,
    parentKey: key,
    kind: 'completion',
    summary: firstLine(told) || 'summary',
    ...(said !== undefined && { said }),
    payload: summary,
  }
}
