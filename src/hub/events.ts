// Events of the memory (`events_log`, written in the commit they tell of) on their way out: into events.jsonl beside the
// memory, and to a hub by HTTP. The table is the outbox: `deliveries` notes what became of each event, so a kill or a hub
// that is down delays an event and loses none. A kill between an answer and its note sends it twice, under the same id.
import { createHash } from 'node:crypto'
import { renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseStored, RecollectError } from '../errors.ts'
import { AppendFile } from '../files/append.ts'
import type { Outbox, OutboxEvent } from '../store/notes.ts'

export interface Posting {
  delivered: number
  /** Still to be sent: waiting for the hub, or for the next time to try it. */
  pending: number
  /** Refused by the hub, or not taken for too long: they are not sent again. */
  givenUp: number
  problem: RecollectError | undefined
}

const LOG = 'log'
const MAX_PER_RUN = 100
const MAX_WAITING = 1000
const MAX_ATTEMPTS = 24
const LOG_BYTES = 1 << 20
const FIRST_PAUSE = 30_000
const LONGEST_PAUSE = 6 * 3_600_000

/** What goes out: counts, hashes and ids, never a word of a transcript. */
function bodyOf(outbox: Outbox, event: OutboxEvent): { id: string; body: string } {
  const parts = [outbox.memoryId(), event.session_uid, event.at, event.name].join('\0')
  const id = createHash('sha256').update(parts).digest('hex').slice(0, 32)
  const body = JSON.stringify({
    id,
    name: event.name,
    at: new Date(event.at).toISOString(),
    session_uid: event.session_uid || null,
    ...parseStored<Record<string, unknown>>(event.detail),
  })
  return { id, body }
}

/** Appends what is new to events.jsonl; the one before it is kept when it grows too long. */
export async function logEvents(outbox: Outbox, home: string): Promise<void> {
  const events = outbox.waiting(LOG, MAX_WAITING)
  if (events.length === 0) return
  const path = join(home, 'events.jsonl')
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size > LOG_BYTES) renameSync(path, join(home, 'events.1.jsonl'))
  const file = new AppendFile(path)
  try {
    for (const event of events) {
      await file.append(bodyOf(outbox, event).body)
      outbox.noteDelivery(LOG, event, 'delivered')
    }
  } finally {
    await file.close()
  }
}

export interface Hub {
  url: string
  /** Sent as a bearer token; empty: none. */
  token: string
  timeoutMs: number
}

/** What waits to be told, when it cannot be sent at all. */
export const unsent = (outbox: Outbox, url: string, problem: RecollectError): Posting => ({
  delivered: 0,
  pending: outbox.waiting(url, MAX_WAITING).length,
  givenUp: 0,
  problem,
})

/** Sends what waits, until the hub fails or twice the timeout has passed: nobody waits longer than that for it. */
export async function postEvents(outbox: Outbox, hub: Hub, now: number): Promise<Posting> {
  const { url, timeoutMs } = hub
  const events = outbox.waiting(url, MAX_WAITING)
  const posting: Posting = { delivered: 0, pending: events.length, givenUp: 0, problem: undefined }
  if (events.length === 0 || isPausing(outbox, url, now)) return posting
  const deadline = performance.now() + 2 * timeoutMs
  for (const event of events.slice(0, MAX_PER_RUN)) {
    // Not begun where it could take longer than there is time.
    if (performance.now() + timeoutMs > deadline) break
    const { id, body } = bodyOf(outbox, event)
    const answer = await post(hub, id, body)
    if (answer.isTaken) {
      outbox.noteDelivery(url, event, 'delivered')
      posting.delivered++
      posting.pending--
      continue
    }
    const isFinal = answer.isRefused || event.attempts + 1 >= MAX_ATTEMPTS
    outbox.noteDelivery(
      url,
      event,
      isFinal ? 'given_up' : 'waiting',
      now + pauseAfter(event.attempts, answer.retryAfterMs),
    )
    posting.problem = unreachable(url, answer.reason, isFinal)
    if (isFinal) {
      posting.givenUp++
      posting.pending--
    }
    if (!answer.isRefused) break
  }
  return posting
}

/** One failure is about the hub, not about the event: all wait. */
function isPausing(outbox: Outbox, sink: string, now: number): boolean {
  const until = outbox.pausedUntil(sink)
  // A clock that was set back must not make it wait for ever.
  return until > now && until - now <= LONGEST_PAUSE
}

const pauseAfter = (attempts: number, retryAfterMs: number): number =>
  Math.min(LONGEST_PAUSE, Math.max(retryAfterMs, FIRST_PAUSE * 2 ** Math.min(attempts, 20)))

interface Answer {
  isTaken: boolean
  /** It will never be taken: sending it again is of no use. */
  isRefused: boolean
  retryAfterMs: number
  reason: string
}

/** About the hub or the token, not about the event: both can be put right. */
const PASSING = new Set([401, 403, 407, 408, 425, 429])

async function post({ url, token, timeoutMs }: Hub, id: string, body: string): Promise<Answer> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'idempotency-key': id,
        ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    })
    await response.body?.cancel()
    const { status } = response
    return {
      isTaken: status >= 200 && status < 300,
      isRefused: status >= 400 && status < 500 && !PASSING.has(status),
      retryAfterMs: retryAfter(response.headers.get('retry-after') ?? '', Date.now()),
      reason: `it answered ${status}${isAboutToken(status) ? ', the token is missing or not the right one' : ''}`,
    }
  } catch (error) {
    const { cause, name, message } = error as Error
    const reason =
      name === 'TimeoutError' ? `no answer within ${timeoutMs} ms` : (cause as Error)?.message || message
    return { isTaken: false, isRefused: false, retryAfterMs: 0, reason }
  }
}

/** A number of seconds or a date; 0 for anything else. */
function retryAfter(header: string, now: number): number {
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now
  return Number.isFinite(ms) ? Math.max(0, ms) : 0
}

const isAboutToken = (status: number): boolean => status === 401 || status === 403

function unreachable(url: string, reason: string, isFinal: boolean): RecollectError {
  const { origin, pathname } = new URL(url)
  return new RecollectError('UNREACHABLE', `the hub did not take an event: ${reason}`, {
    where: origin + pathname,
    hint: isFinal
      ? 'it is not sent again: it stands in events.jsonl'
      : 'later sweeps send it again; check hub.url and hub.token_env, or whether the hub is running',
  })
}
