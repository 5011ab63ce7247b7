// The tool that writes: a decision beside a session, kept for good.
import { z } from 'zod'
import { decide } from '../decide.ts'
import { RecollectError } from '../errors.ts'
import { ownSessions } from './caller.ts'
import { line } from './result.ts'
import { id, tool } from './tool.ts'

export const decideTool = tool({
  name: 'decide',
  description: 'Keep a decision and its reason beside a session (default: this one).',
  writes: true,
  input: z.strictObject({ text: z.string().min(1).max(2000), session: id.optional() }),
  run: ({ handle, config, caller }, input) => {
    const session = input.session ?? [...ownSessions(handle, caller)][0]
    if (session === undefined)
      throw new RecollectError('NOT_FOUND', 'your own session is not remembered yet', {
        where: 'session',
        hint: 'recollect sweep, then again; or name a session',
      })
    const decision = decide({ config, session, text: input.text, author: 'agent' })
    return {
      about: 'Kept.',
      data: { id: `${decision.session_uid}#${decision.seq}` },
      entries: [
        {
          at: 0,
          text: line`${decision.session_uid}#${decision.seq} `,
          body: decision.text,
          data: { id: `${decision.session_uid}#${decision.seq}`, at: decision.ts, text: decision.text },
        },
      ],
    }
  },
})
