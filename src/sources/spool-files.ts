// The spool: what hooks leave for the next sweep, in `<home>/spool`. The names and limits that its writer (the hook
// handler, which loads nothing else) and its reader share.
//
//   hooks.jsonl     one line per hook that fired; appended by handlers, renamed away by the sweep that takes it
//   taken-*.jsonl   taken by a sweep and removed when that sweep has committed; one left by a kill is taken again
//   nudged          a sweep was started and has not yet taken the spool: no other has to be started
//   watch.sock      `recollect watch` listens here while it runs

export const SPOOL = 'spool'
export const LINES = 'hooks.jsonl'
export const NUDGED = 'nudged'
export const SOCKET = 'watch.sock'

/** A full spool takes no more lines: it then means that everything has to be looked at. */
export const MAX_SPOOL_BYTES = 1 << 20
export const MAX_PATH_LENGTH = 4096

/** What is kept of a hook: never a prompt or an answer. */
export interface SpoolLine {
  /** Epoch milliseconds. */
  at: number
  /** Null where the handler's input was not understood. */
  event: string | null
  session: string | null
  /** The transcripts the agent named. */
  paths: string[]
  /** Whose hook it was, where no transcript tells. */
  agent?: string
}

/** Before the name of an agent, in the arguments of its handler. */
export const AGENT = '--agent='

/** Sent by `hooks test`; asks for no sweep. */
export const TEST_EVENT = 'RecollectTest'
