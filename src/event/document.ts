// What was told of an event, as documents hold it: the names of fields in the spelling of all our JSON.
import type { Body, Told } from './body.ts'

export type EditDocument =
  | { path: string; before: string; after: string; is_whole: boolean; is_all: boolean }
  | { path: string; patch: string }

export interface ToldDocument extends Omit<Told, 'edits' | 'made'> {
  edits?: EditDocument[]
  made?: { commits: readonly string[]; pull_requests: readonly string[] }
}

export function toldDocument({ raw: _, edits, made, ...told }: Body): ToldDocument {
  return {
    ...told,
    ...(edits && {
      edits: edits.map((edit) => {
        if ('patch' in edit) return edit
        const { isWhole = false, isAll = false, ...texts } = edit
        return { ...texts, is_whole: isWhole, is_all: isAll }
      }),
    }),
    ...(made && { made: { commits: made.commits, pull_requests: made.pullRequests } }),
  }
}
