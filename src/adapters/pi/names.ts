// Names of session files: a time and the id of the session.
import { basename } from 'node:path'

export const SESSION_FILE = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_(.+)\.jsonl$/

/** The session that a file is named after; the whole name where it is of another kind. */
export const sessionIn = (path: string): string => {
  const name = basename(path)
  return SESSION_FILE.exec(name)?.[1] ?? name.replace(/\.jsonl$/, '')
}
