// What the signs of a query say: text that is more than its letters, names, and queries that ask for nothing.
import { RecollectError } from '../errors.ts'
import { parseQuery } from '../store/words.ts'
import type { AnswerOptions } from './answer.ts'

/** A query has to name something that must be there. */
export function refuseEmpty(query: string, how: NonNullable<AnswerOptions['how']>, where: string): void {
  if (how !== 'words' && query === '')
    throw new RecollectError('USAGE', 'an empty text is everywhere', { where, hint: `text behind --${how}` })
  if (how !== 'words' || parseQuery(query) !== undefined || signsIn(query) !== undefined) return
  throw new RecollectError('USAGE', 'the query has no word that must be there', {
    where,
    hint: 'at least one word without a minus: recollect search error -docker',
  })
}

/** Signs alone, which no index holds: they are looked for as they are. A single one of the keyboard is everywhere. */
export function signsIn(query: string): string | undefined {
  const signs = query.replace(/["*\p{Cc}\p{Cs}]/gu, '').trim()
  return /[\p{L}\p{N}]/u.test(signs) || !/[!-~]{2}|[^\x00-\x7f]/.test(signs) ? undefined : signs
}

/** `C++`, `a.b?.c`: the letters alone would be found everywhere. */
export const isWeak = (text: string): boolean =>
  /[^\p{L}\p{N}\s_'’-]/u.test(text) &&
  (text.match(/[a-z0-9]+/gi) ?? []).every((word) => word.length <= 2) &&
  /^[\x21-\x7e]+$/.test(text)

/** `submit_calls`, `TS2304`, `setIsListening`: nobody mistypes these for another word. */
export const isName = (text: string): boolean =>
  /[\p{L}\p{N}][_./-][\p{L}\p{N}]|\p{Ll}\p{Lu}|\p{L}\p{N}/u.test(text)
