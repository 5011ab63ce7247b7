// What can be done with a session, as far as it only has to be told: how to take it up again, how to hand it off, what of it
// would go if it were forgotten, and the whole of it as a file.
import { Hono } from 'hono'
import { stream } from 'hono/streaming'
import { agentTitle } from '../../adapters/index.ts'
import { resumeCommand } from '../../adapters/resume.ts'
import { briefingOf } from '../../digest/handoff.ts'
import { EXPORT_FORMATS, ExportSource, FORMATS } from '../../export/index.ts'
import { shellWord } from '../../files/shell.ts'
import type { Session } from '../../model.ts'
import { getSession, resolveSession } from '../../query/sessions.ts'
import { addressOf, commandThere } from '../../remote/destination.ts'
import { planForget } from '../../retention/forget.ts'
import { forgetJson } from '../../retention/json.ts'
import type { Reader } from '../../store/reader/index.ts'
import type { Memory } from './memory.ts'
import { Params } from './params.ts'

/** As a person would type it; null where the agent cannot, or does not know the session any more. */
export function resumeLine(handle: Reader, uid: string, home: string): string | null {
  const session = getSession(handle, uid)
  if (!session || session.is_sole_copy) return null
  const command = resumeCommand(session.flavor, session.native_session_id)
  if (command === undefined) return null
  const line = session.cwd === null ? command : `cd ${shellWord(session.cwd)} && ${command}`
  const address = session.source_path === null ? undefined : addressOf(home, session.source_path)
  return address === undefined ? line : commandThere(address, line).map(shellWord).join(' ')
}

/** Between two pieces others are answered. */
const PIECE = 256 * 1024

export function actRoutes(memory: Memory): Hono {
  const routes = new Hono()
  const sessionOf = (typed: string): Session =>
    getSession(memory.handle(), resolveSession(memory.handle(), typed)) as Session
  routes.get('/:uid/handoff', (context) => {
    const { session_uid, flavor } = sessionOf(context.req.param('uid'))
    return context.json({
      session_uid,
      briefing: briefingOf(memory.handle(), session_uid, agentTitle(flavor)),
    })
  })
  routes.get('/:uid/forgetting', (context) => {
    const { session_uid } = sessionOf(context.req.param('uid'))
    return context.json({ session_uid, would_go: forgetJson(planForget(memory.handle(), session_uid)) })
  })
  routes.get('/:uid/export', (context) => {
    const params = new Params(context)
    const format = FORMATS[params.choice('format', EXPORT_FORMATS, 'md')]
    const session = sessionOf(context.req.param('uid'))
    const name = session.session_uid.replace(/[^\w.-]/g, '-')
    // Never as a document: what a transcript holds is not shown by this origin but through the page.
    context.header('content-type', 'application/octet-stream')
    context.header('content-disposition', `attachment; filename="${name}.${format.extension}"`)
    return stream(context, async (out) => {
      let piece = ''
      for (const text of format.write(new ExportSource(memory.handle(), session))) {
        piece += text
        if (piece.length < PIECE) continue
        await out.write(piece)
        piece = ''
        await new Promise(setImmediate)
      }
      await out.write(piece)
    })
  })
  return routes
}
