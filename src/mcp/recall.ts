// The tool that recalls: what fits an error or a task well, and nothing else.
import { z } from 'zod'
import { type Recalled, recall } from '../digest/recall.ts'
import { ownSessions } from './caller.ts'
import { type Entry, line } from './result.ts'
import { counted, tool } from './tool.ts'

export const recallTool = tool({
  name: 'recall',
  description: 'What past sessions know of an error or task.',
  input: z.strictObject({ text: z.string().min(1).max(20_000) }),
  run: async ({ handle, caller }, { text }) => {
    const { kind, items } = await recall(handle, text, { notShown: ownSessions(handle, caller) })
    return {
      about: kind === null ? 'Nothing fits well. Try search.' : `${counted(items.length, `past ${kind}`)}.`,
      data: { kind },
      entries: items.map(entryOf),
    }
  },
})

const entryOf = ({ id, at, repo, what, steps, times }: Recalled, place: number): Entry => ({
  at: place,
  text: line`${id}  ${at?.slice(0, 10) ?? '?'}  ${repo ?? '-'}  ${what}`,
  more: [
    ...(times > 1 ? [line`mended so in ${times} sessions:`] : []),
    ...steps.map((step) => line`#${step.seq} ${step.what}`),
  ],
  data: { id, at, repo, what, steps, sessions: times },
})
