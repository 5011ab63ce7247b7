// Pushes sessions to a team server, as far as the settings ask for it. Runs after a sweep, holds none of its locks, and fails by
// reporting: what the server did not acknowledge is due again next time, nothing else is kept of it.
import { closeSync, constants, openSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import type { Level } from '../../contract.ts'
import { fromSystem, hasCode, RecollectError } from '../../errors.ts'
import { tryLock } from '../../files/lock.ts'
import { createRedactor, loadRedactionKey } from '../../redact/index.ts'
import { type Notes, openNotes } from '../../store/notes.ts'
import { storePaths } from '../../store/reading.ts'
import { type Gathered, type Gathering, gather, uidThere } from './gather.ts'
import { ask, isPrivate, notTaken, type Server, sendSession } from './send.ts'

export interface PushReport {
  server: string
  level: Level
  acknowledged: number
  /** Due, and not sent yet. */
  pending: number
  /** Forgotten here, and gone from the server now. */
  forgotten: number
  problems: RecollectError[]
}

/** Sends what is due, until it is done, the server fails, or the time is up. Undefined while another one is at it. */
export async function push(
  config: Config,
  deadlineMs = Number.POSITIVE_INFINITY,
): Promise<PushReport | undefined> {
  const url = config.get('push.url')
  const report: PushReport = {
    server: url,
    level: config.get('push.level') as Level,
    acknowledged: 0,
    pending: 0,
    forgotten: 0,
    problems: [],
  }
  const until = performance.now() + deadlineMs
  let alone: Alone | undefined
  try {
    const server = serverOf(config, process.env)
    alone = openAlone(config)
    if (!alone) return undefined
    await forgetThere(alone.notes, server, report)
    await sendDue(gatheringOf(config, alone.notes), server, report, until)
  } catch (error) {
    report.problems.push(fromSystem(error, 'cannot push', config.home))
  } finally {
    alone?.close()
  }
  return report
}

/** Exactly what would leave, session by session; nothing is sent. */
export function* preview(config: Config): Generator<Gathered> {
  const notes = openNotes(storePaths(config.home, config.get('store.db_path')))
  try {
    const gathering = gatheringOf(config, notes)
    for (const due of notes.pushes.due(config.get('push.url'), gathering.level)) {
      const found = gather(gathering, due)
      if (found) yield found
    }
  } finally {
    notes.close()
  }
}

function gatheringOf(config: Config, notes: Notes): Gathering {
  return {
    notes,
    redactor: createRedactor({ key: loadRedactionKey(join(config.home, 'redaction.key')) }),
    level: config.get('push.level') as Level,
    isNamed: config.get('identity.host') !== '',
  }
}

/** Sessions that are named; however many are refused, they hold up no others. */
const MAX_PROBLEMS = 20

async function sendDue(
  { notes, ...rest }: Gathering & { notes: Gathering['notes'] },
  server: Server,
  report: PushReport,
  until: number,
): Promise<void> {
  const due = notes.pushes.due(server.url, rest.level)
  report.pending = due.length
  for (const one of due) {
    if (performance.now() > until) return
    const found = gather({ notes, ...rest }, one)
    if (!found) continue
    try {
      const sent = await sendSession(
        server,
        found.push,
        found.segments,
        new Set(one.segments.map((segment) => segment.sha256)),
      )
      // Forgotten there and still here: it is not sent again as it is.
      const generation = sent.state === 'acknowledged' ? sent.generation : one.generation
      notes.pushes.note(server.url, found.push.host.id, { ...one, generation, segments: found.push.segments })
      report.acknowledged++
      report.pending--
    } catch (error) {
      if (report.problems.length < MAX_PROBLEMS)
        report.problems.push(fromSystem(error, 'cannot push a session', one.uid))
      // About the server, not about this session: the others fare no better.
      if (!hasCode(error, 'REFUSED')) return
    }
  }
}

async function forgetThere(notes: Notes, server: Server, report: PushReport): Promise<void> {
  for (const { uid, hostId } of notes.pushes.forgotten(server.url)) {
    const query = new URLSearchParams({ uid: uidThere(uid, hostId), host: hostId })
    const answer = await ask(server, 'DELETE', `/v1/sessions?${query}`)
    if (answer.status === 204) {
      notes.pushes.noteForgotten(server.url, uid)
      report.forgotten++
    } else report.problems.push(notTaken(server.url, answer))
  }
}

function serverOf(config: Config, env: Record<string, string | undefined>): Server {
  const refuse = (message: string, hint: string): never => {
    throw new RecollectError('BAD_CONFIG', message, { where: config.place('push.url'), hint })
  }
  const url = config.get('push.url')
  if (url === '') return refuse('no team server is set', 'set push.url; docs/fleet.md')
  if (!isPrivate(url))
    return refuse('sessions are sent by https only, or to this machine', 'write push.url with https://')
  const name = config.get('push.token_env')
  const token = env[name]?.trim() ?? ''
  if (!/^rct_[\w-]+$/.test(token))
    return refuse(
      `${name} holds no token of this machine`,
      'recollect serve token create, on the server; export it where sweeps are started',
    )
  return { url, token, timeoutMs: config.get('push.timeout') }
}

interface Alone {
  notes: Notes
  close(): void
}

/** One that pushes at a time. */
function openAlone(config: Config): Alone | undefined {
  const fd = openSync(
    join(config.home, 'push.lock'),
    constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW,
    0o600,
  )
  try {
    if (tryLock(fd)) {
      const notes = openNotes(storePaths(config.home, config.get('store.db_path')))
      const close = (): void => {
        notes.close()
        closeSync(fd)
      }
      return { notes, close }
    }
  } catch (error) {
    closeSync(fd)
    throw error
  }
  closeSync(fd)
  return undefined
}
