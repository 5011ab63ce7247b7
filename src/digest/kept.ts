// What of the work was kept: commits and pull requests, as the output of the commands that made them shows them, or as the
// client saw them made.
import { type DigestEvent, fullText } from './event.ts'
import type { Step } from './step.ts'

export interface Commit {
  /** Empty where it was made and its name not shown. */
  sha: string
  subject: string
}

export interface Kept {
  commits: Commit[]
  pullRequests: string[]
  /** The newest commit that was pushed. */
  pushed: string | undefined
}

/** What a command may make, and its output then shows. */
export interface Keeps {
  commits?: boolean
  requests?: boolean
  /** Of a `git commit`: the subject it was given, and whether it was told to say nothing. */
  given?: { subject: string; isQuiet: boolean }
}

const OPENS_REQUEST = /\b(?:pr|mr)[ -]?(?:create|submit)\b|\bgt (?:submit|ss)\b|\bgit push\b|\bpull-request\b/
/** Programs and recipes that commit by the way: whether they did, their output shows. */
const MAY_COMMIT =
  /\b(?:pr|mr)[ -]?(?:create|submit)\b|\b(?:gt|jj|sl|make|just|mise|task|npm run|pnpm|yarn|bun run|rtk|cz|aicommits)\b[^|;&\n]{0,80}\b(?:commit|submit|ship|release|create|modify|amend)/

const TOUCHES_REQUEST =
  /\b(?:pr|mr) (?:comment|note|review|edit|update|view|diff|checks|checkout|ready|merge|close|reopen)\b/

/** Clients also link a request that was only commented on or read: what ran then tells. */
export function onlyTouchesRequest(open: readonly Step[]): boolean {
  const asked = open.findLast((one) => one.does === 'shell' && one.hasFailed === null)?.asked ?? ''
  return TOUCHES_REQUEST.test(asked) && !OPENS_REQUEST.test(asked)
}

/** One that is merged was opened by somebody before. */
export const merges = (command: string): boolean =>
  /\b(?:pr|mr) merge\b/.test(command) && !OPENS_REQUEST.test(command)

/** Null for most commands. */
export function mayKeep(command: string): Keeps | null {
  const part = command.split(/&&|\|\||[|;\n]/).find(commitsByName)
  const requests = OPENS_REQUEST.test(command)
  const commits = part !== undefined || MAY_COMMIT.test(command)
  if (!commits && !requests) return null
  const isCommit = part !== undefined && /\bcommit\b/.test(part)
  return { commits, requests, ...(isCommit && { given: givenTo(command, part) }) }
}

/** Of one program of a pipe. */
function commitsByName(command: string): boolean {
  const at = command.search(/\bgit\b/)
  return at !== -1 && /\b(?:commit|cherry-pick|revert|merge)\b/.test(command.slice(at + 'git'.length))
}

function givenTo(command: string, part: string): NonNullable<Keeps['given']> {
  const [, double, single] = /\s-\w{0,3}m[ =]{0,2}(?:"([^"$\n]{1,200})|'([^'\n]{1,200}))/.exec(command) ?? []
  return {
    subject: (double ?? single ?? '').trim(),
    isQuiet: /\s(?:-\w{0,3}q\w{0,3}|--quiet)(?=\s|$)/.test(part),
  }
}

/** What a command made; of one that failed only what it had said before. */
export function keptIn({ commits, requests, given }: Keeps, result: DigestEvent, hasFailed: boolean): Kept {
  const text = fullText(result)
  const made = result.body()?.made
  const named = (made?.commits ?? []).filter((sha) => /^[0-9a-f]{7,40}$/.test(sha))
  const shown = commits && !hasFailed ? commitsIn(text) : []
  const isShown = (sha: string): boolean =>
    shown.some((one) => one.sha.startsWith(sha) || sha.startsWith(one.sha))
  // The client names a commit without its subject.
  const all = [...shown, ...named.filter((sha) => !isShown(sha)).map((sha) => ({ sha, subject: '' }))]
  if (all.length === 0 && commits && isToldOf(text, given, hasFailed))
    all.push({ sha: '', subject: given?.subject ?? '' })
  return {
    commits: all,
    pullRequests: hasFailed
      ? []
      : [
          ...new Set([
            ...(requests ? pullRequestsIn(text) : []),
            ...(made?.pullRequests ?? []).flatMap(pullRequestsIn),
          ]),
        ],
    pushed: requests ? /^ {1,9}[0-9a-f]{7,40}\.{2,3}([0-9a-f]{7,40}) /m.exec(text)?.[1] : undefined,
  }
}

const ANNOUNCES = /^\W{0,9}Committ(?:ing|ed) (?:\w{1,20} ){0,2}changes\b.*(?:\n\s{0,40}(.{0,200}))?/m
const COUNTS_FILES = /^ \d{1,6} files? changed[,\n]/m

/** A commit whose name was not shown: its program says that it makes one, or how many files went in; or it was told to say nothing. */
function isToldOf(text: string, given: Keeps['given'], hasFailed: boolean): boolean {
  const next = ANNOUNCES.exec(text)
  if (next) return !/\b(?:error|fail|nothing|abort)/i.test(next[1] ?? '')
  if (hasFailed || !given) return false
  return COUNTS_FILES.test(text) || (given.isQuiet && text.trim() === '')
}

/** The newest commit, where a command lists the history from there. */
export function headIn(command: string, firstLine: string): Commit | undefined {
  const [, options] = /^(?:cd \S{1,300} && )?git (?:--no-pager )?log\b([^|;&]{0,200})/.exec(command) ?? []
  if (
    options === undefined ||
    options
      .trim()
      .split(/\s+/)
      .some((word) => word !== '' && !/^-|^HEAD$|\.\.(?:HEAD)?$/.test(word))
  )
    return undefined
  const [, sha, subject] =
    /^(?:commit )?([0-9a-f]{7,40})\b(?: \([^)]{0,200}\))? ?(.{0,200})/.exec(firstLine) ?? []
  return sha === undefined ? undefined : { sha, subject: (subject ?? '').trim() }
}

// `[main 1a2b3c4] Say why`, `[main (root-commit) 1a2b3c4] Begin`, `[detached HEAD 1a2b3c4] …`
const COMMITTED = /^\[[^\]\n]*?\b([0-9a-f]{7,40})\] (.+)$/gm

const commitsIn = (output: string): Commit[] =>
  [...output.matchAll(COMMITTED)].map(([, sha, subject]) => ({
    sha: sha as string,
    subject: (subject as string).trim().slice(0, 200),
  }))

const ADDRESS = /https?:\/\/[^\s"'<>()[\]]+/g

// In two steps, each of which passes over a letter once: a single expression would look for the number from every `http` to
// the end of a text that is nothing but addresses.
export function pullRequestsIn(output: string): string[] {
  const found = new Set<string>()
  for (const [address] of output.matchAll(ADDRESS)) for (const one of requestsIn(address)) found.add(one)
  return [...found]
}

/** Usually one; several where addresses stand side by side without anything in between. */
function* requestsIn(address: string): Generator<string> {
  const start = /https?:\/\//g
  const number = /\/(?:pull|pulls|merge_requests|pull-requests)\/\d+/g
  for (let scheme = start.exec(address); scheme; scheme = start.exec(address)) {
    // The host has at least one letter.
    number.lastIndex = start.lastIndex + 1
    if (!number.test(address)) return
    yield address.slice(scheme.index, number.lastIndex)
    start.lastIndex = number.lastIndex
  }
}
