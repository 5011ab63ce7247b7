// The tools that write: a decision beside a session, kept for good, and what it is filed under.
import { z } from 'zod'
import { decide } from '../decide.ts'
import { RecollectError } from '../errors.ts'
import { label } from '../label.ts'
import { ownSessions } from './caller.ts'
import { line } from './result.ts'
import { type Context, id, tool } from './tool.ts'

export const decideTool = tool({
  name: 'decide',
  description: 'Keep a decision and why beside a session (default: yours).',
  writes: true,
  input: z.strictObject({ text: z.string().min(1).max(2000), session: id.optional() }),
  run: (context, input) => {
    const session = meant(context, input.session)
    const decision = decide({ config: context.config, session, text: input.text, author: 'agent' })
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

/** The session that is named, else the caller's own. */
function meant({ handle, caller }: Context, named: string | undefined): string {
  const session = named ?? [...ownSessions(handle, caller)][0]
  if (session !== undefined) return session
  throw new RecollectError('NOT_FOUND', 'your own session is not remembered yet', {
    where: 'session',
    hint: 'recollect sweep, then again; or name a session',
  })
}

export const labelTool = tool({
  name: 'label',
  description: 'Add a note or tags; star.',
  writes: true,
  input: z.strictObject({
    note: z.string().min(1).max(2000).optional(),
    tags: z.string().max(500).optional(),
    star: z.boolean().optional(),
    session: id.optional(),
  }),
  run: (context, input) => {
    const { note, tags, star } = input
    if (note === undefined && tags === undefined && star === undefined)
      throw new RecollectError('USAGE', 'nothing to write', { where: 'note', hint: 'note, tags or star' })
    const session = label(context.config, meant(context, input.session), {
      ...(note === undefined ? {} : { addNote: note, author: 'agent' }),
      ...(tags === undefined ? {} : { addTags: tags.split(/[\s,]+/).filter(Boolean) }),
      ...(star === undefined ? {} : { star }),
    })
    const { session_uid: uid, starred_at, notes } = session
    return {
      about: 'Kept.',
      data: { session: uid, starred: starred_at !== null, tags: session.tags.join(' ') },
      entries: notes.slice(-1).map(({ number, text }) => ({
        at: 0,
        text: line`note ${number} `,
        body: text,
        data: { note: number, text },
      })),
    }
  },
})
