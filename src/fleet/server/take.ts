// What machines send: segments first, then the session that names them, in one transaction. What holds a secret is refused: the
// machine should have taken it out, and this is the last look at it.
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { gunzipSync } from 'node:zlib'
import {
  LEVELS,
  MAX_SEGMENT_BYTES,
  MAX_SESSION_BYTES,
  type SessionPush,
  sessionPush,
} from '../../contract.ts'
import { errnoOf } from '../../errors.ts'
import { bodyOf } from '../../http.ts'
import type { Findings, Redactor } from '../../redact/index.ts'
import type { Caller } from '../../store/postgres/access.ts'
import { writeSession } from '../../store/postgres/ingest.ts'
import { forgetSession, namedSegments } from '../../store/postgres/removal.ts'
import { type BlobStore, blobName } from '../blobs.ts'
import type { Serving } from './answers.ts'
import { Refusal } from './guard.ts'

/** What a segment may unfold to. */
const MAX_UNFOLDED = 64 << 20

async function bytesOf(request: IncomingMessage, most: number): Promise<Buffer> {
  const body = await bodyOf(request, most)
  if (body === undefined)
    throw new Refusal(413, 'TOO_LARGE', `more than ${most} bytes`, 'send it in parts: recollect push does')
  return body
}

const holdsSecret = (findings: Findings): Refusal =>
  new Refusal(
    422,
    'REFUSED',
    `it holds what looks like a secret (${Object.keys(findings).join(', ')})`,
    'update recollect on that machine: its rules are older than the server’s',
  )

/** Markers of what was taken out look like no secret to the rules that made them. */
function refuseSecrets(redactor: Redactor, value: unknown): void {
  const findings: Findings = {}
  redactor.value(value, findings)
  if (Object.keys(findings).length > 0) throw holdsSecret(findings)
}

/** True when it is new here. */
export async function takeSegment(
  { blobs, redactor }: Serving & { redactor: Redactor },
  { team }: Caller,
  sha256: string,
  request: IncomingMessage,
): Promise<boolean> {
  if (request.headers['if-none-match'] !== '*')
    throw new Refusal(400, 'BAD_INPUT', 'a segment is put once', 'send If-None-Match: *')
  const name = blobName(team, sha256)
  if (await blobs.has(name)) return false
  const bytes = await bytesOf(request, MAX_SEGMENT_BYTES)
  if (createHash('sha256').update(bytes).digest('hex') !== sha256)
    throw new Refusal(422, 'BAD_INPUT', 'the bytes have another hash', 'send what the name says')
  for (const line of unfolded(bytes)) refuseSecrets(redactor, line)
  return await blobs.put(name, bytes)
}

function unfolded(bytes: Buffer): unknown[] {
  try {
    const text = gunzipSync(bytes, { maxOutputLength: MAX_UNFOLDED }).toString('utf8')
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  } catch {
    throw new Refusal(422, 'BAD_INPUT', 'not gzip of JSON lines', 'send what recollect push makes')
  }
}

const levelOf = (push: SessionPush): number => LEVELS.indexOf(push.level)

/**
 * Without what Postgres cannot hold: U+0000 and half a surrogate pair. It would refuse the whole session, and the machine would wait
 * with all that comes after it. Escape by escape, so that an escaped backslash before the letters is not mistaken for one.
 */
const storable = (json: string): string =>
  /\\u(?:0000|d[89a-f])/i.test(json)
    ? json.replace(/\\(?:ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|u0000|ud[89a-f][0-9a-f]{2}|.)/gis, (sign) =>
        sign.length === 6 ? '\\ufffd' : sign,
      )
    : json

function parsePush(bytes: Buffer): SessionPush {
  let value: unknown
  try {
    value = JSON.parse(storable(bytes.toString('utf8')))
  } catch {
    throw new Refusal(422, 'BAD_INPUT', 'not JSON', 'docs/fleet-api.md')
  }
  const parsed = sessionPush.safeParse(value)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new Refusal(422, 'BAD_INPUT', `${issue?.path.join('.')}: ${issue?.code}`, 'docs/fleet-api.md')
  }
  const push = parsed.data
  if ((push.digest !== null && levelOf(push) < 1) || (push.segments.length > 0 && levelOf(push) < 2))
    throw new Refusal(
      422,
      'BAD_INPUT',
      'it holds more than its level',
      'ledger: figures only; digest: no segments',
    )
  // A row per response: the same twice would be two.
  if (new Set(push.ledger.map((one) => one.id)).size < push.ledger.length)
    throw new Refusal(422, 'BAD_INPUT', 'a response stands in it twice', 'each response once')
  return push
}

/** A figure or a text beyond what a column or an index takes is about this session alone: the machine goes on with others. */
function refuseUnheld(error: unknown): never {
  const { cause } = error as { cause?: unknown }
  if (![error, cause].some((one) => /^(?:22|54)/.test(errnoOf(one) ?? ''))) throw error
  throw new Refusal(
    422,
    'BAD_INPUT',
    'it holds a figure, a time or a text beyond what the database takes',
    'leave it',
  )
}

export async function takeSession(
  serving: Serving & { redactor: Redactor },
  caller: Caller,
  request: IncomingMessage,
): Promise<unknown> {
  const { fleet, blobs, redactor } = serving
  const push = parsePush(await bytesOf(request, MAX_SESSION_BYTES))
  refuseSecrets(redactor, { ...push, segments: [], ledger: [] })
  const missing: string[] = []
  for (const { sha256 } of push.segments)
    if (!(await blobs.has(blobName(caller.team, sha256)))) missing.push(sha256)
  if (missing.length > 0)
    throw new Refusal(409, 'NOT_FOUND', 'segments lack', 'put them first', {
      missing: missing.slice(0, 1000),
    })
  const { written, before } = await writeSession(fleet, caller, push, Date.now()).catch(refuseUnheld)
  if (written.state === 'stale')
    throw new Refusal(
      409,
      'EXISTS',
      'it was written from another generation',
      'send it again from the one there is',
      { generation: written.generation },
    )
  if (written.state === 'forgotten') throw new Refusal(410, 'GONE', 'this session was forgotten', 'leave it')
  if (written.state === 'foreign') throw foreign()
  await dropUnnamed(serving, caller.team, before)
  return written
}

const foreign = (): Refusal =>
  new Refusal(403, 'REFUSED', 'another person’s machine has this id', 'use the token of that machine')

export async function forget(
  serving: Serving,
  { team, person }: Caller,
  query: URLSearchParams,
): Promise<void> {
  const [uid, hostId] = [(query.get('uid') ?? '').replaceAll('\0', '\ufffd'), query.get('host') ?? '']
  if (uid === '' || uid.length > 400 || !/^[0-9a-f]{16}$/.test(hostId))
    throw new Refusal(400, 'BAD_INPUT', 'uid or host is not understood', 'name a session and the machine')
  const came = await forgetSession(serving.fleet, { team, person, uid, hostId }, Date.now())
  if (came.state === 'held')
    throw new Refusal(409, 'REFUSED', 'a legal hold keeps it', 'ask whoever runs the server')
  if (came.state === 'foreign') throw foreign()
  await dropUnnamed(serving, team, came.segments)
}

/** Bytes behind a commit that took the last name from them. A kill leaves some, which `serve retain` finds. */
export async function dropUnnamed(
  { fleet, blobs }: { fleet: Serving['fleet']; blobs: BlobStore },
  team: string,
  hashes: readonly string[],
): Promise<void> {
  if (hashes.length === 0) return
  const named = await namedSegments(fleet, team, hashes)
  for (const sha256 of new Set(hashes)) if (!named.has(sha256)) await blobs.remove(blobName(team, sha256))
}
