// `recollect record entire`: user and assistant turns of one session. The end of input ends the session (context.md).
import * as z from 'zod'
import { EntireContent, EntireTranscript } from '../../record/index.ts'
import { configFrom } from '../settings.ts'
import { checkLine } from './line.ts'
import { flushOf, LOCKED_SETTINGS } from './options.ts'
import { pump } from './pump.ts'

const OptionalText = z.string().nullable().exactOptional()

const Line = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('user'), content: EntireContent }),
  z.strictObject({
    role: z.literal('assistant'),
    content: EntireContent,
    usage: z.looseObject({}).nullable().exactOptional(),
    id: OptionalText,
    model: OptionalText,
    stopReason: OptionalText,
    requestId: OptionalText,
  }),
])

export async function recordEntire(options: {
  cwd: string
  agentVersion: string
  session?: string
  model?: string
}): Promise<void> {
  const config = configFrom({ ...options }, LOCKED_SETTINGS)
  const transcript = new EntireTranscript({
    cwd: options.cwd,
    version: options.agentVersion,
    flush: flushOf(config),
    lockTimeoutMs: config.get('record.lock_timeout'),
    ...(options.session === undefined ? {} : { sessionId: options.session }),
    ...(options.model === undefined ? {} : { model: options.model }),
  })
  const { sessionId, path } = transcript
  const take = async (value: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const line = checkLine(Line, value, 'docs/formats/entire.md')
    const uuid =
      line.role === 'user'
        ? await transcript.user(line.content)
        : await transcript.assistant(line.content, line)
    return { uuid, sessionId }
  }
  await pump(
    { opened: { sessionId, path }, take, finish: () => transcript.end() },
    config.get('record.max_line'),
  )
}
