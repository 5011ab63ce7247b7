// What a tool of the server is: a name, when to use it, what it takes, and the question it asks of the memory.
import { z } from 'zod'
import type { Config } from '../config.ts'
import { RecollectError } from '../errors.ts'
import { matching } from '../query/meant.ts'
import type { FilterNames } from '../store/reader/filters.ts'
import type { Reader } from '../store/reader/index.ts'
import { parseTime, TIME_FORMS } from '../times.ts'
import type { Caller } from './caller.ts'
import type { Answer } from './result.ts'

export interface Context {
  handle: Reader
  config: Config
  caller: Caller
}

export interface Tool {
  name: string
  /** Together with the schema this is always in a model's context: every word costs each session. */
  description: string
  input: z.ZodObject
  /** Tools that write are offered only when the server was started with leave to. */
  writes?: boolean
  run: (context: Context, input: never) => Answer | Promise<Answer>
}

/** Ties the input of `run` to the schema. */
export function tool<S extends z.ZodObject>(
  definition: Omit<Tool, 'input' | 'run'> & {
    input: S
    run: (context: Context, input: z.output<S>) => Answer | Promise<Answer>
  },
): Tool {
  return definition as Tool
}

/** Cursors are numbers to us; agents send them as they please. */
export const cursor = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional()
export const id = z.string().min(1).max(400)
export const time = z.string().max(40).optional()

/** `1 session`, `2 sessions`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

/** After nothing was found: a repository that no session has is told, and where the others are listed. */
export function refuseUnknownRepo(handle: Reader, repo: FilterNames | undefined): void {
  if (typeof repo !== 'string' || handle.sessions.values('repo').some(matching(repo))) return
  throw new RecollectError('USAGE', `no session has the repo ${repo}`, {
    where: 'repo',
    hint: 'usage by repo lists them; search takes * for all',
  })
}

/** Days, a date and time, or an age such as 7d. */
export function readTime(text: string): number {
  const at = parseTime(text)
  if (at !== undefined) return at
  throw new RecollectError('USAGE', `${text} is no time`, {
    where: 'since',
    hint: TIME_FORMS,
  })
}
