// What an answer says of itself, in the same words everywhere: how it was found, and what was left out. Pure, because the
// page says it as well. Nothing is said where the index held all words in one event: that is what people expect.
import type { Answer } from './answer.ts'

type Told = Pick<Answer, 'holds' | 'found_by' | 'instead' | 'ignored' | 'scanned'> & {
  sessions: readonly { holds: Answer['holds'] }[]
}

export function answerWords({ holds, found_by: by, instead, ignored, scanned, sessions }: Told): string[] {
  if (holds === 'nothing') return ['nothing found']
  const isMixed = sessions.some((one) => one.holds !== 'all_in_event')
  return [
    ...(by === 'bodies' ? ['not in the index: found by reading the bodies'] : []),
    ...instead.map(({ typed, meant }) => `nothing holds ${typed}: these hold ${meant}`),
    ...(holds === 'all_in_event' && by === 'index' && scanned?.is_all && instead.length === 0
      ? ['no body holds it as typed: these hold its words']
      : []),
    ...(holds === 'all_in_session'
      ? ['no event holds all words: sessions that do, or hold most of them']
      : []),
    ...(holds === 'most' ? ['nothing holds all words: sessions that hold most of them'] : []),
    ...(holds === 'all_in_event' && isMixed
      ? ['some event holds all words; what holds most of them together comes first']
      : []),
    ...(ignored.length > 0 ? [`not looked for: ${ignored.join(', ')}`] : []),
  ]
}
