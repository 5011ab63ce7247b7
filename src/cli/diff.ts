// A change to a file before it is made, as a person reads it: what `--dry-run` shows.
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff'

export interface FileChange {
  path: string
  /** Undefined where there is no file before, or none after. */
  before: string | undefined
  after: string | undefined
}

export const diffOf = ({ path, before, after }: FileChange): string =>
  createTwoFilesPatch(
    before === undefined ? '/dev/null' : path,
    after === undefined ? '/dev/null' : path,
    before ?? '',
    after ?? '',
    undefined,
    undefined,
    { context: 2, headerOptions: FILE_HEADERS_ONLY },
  )
