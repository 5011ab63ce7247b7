// What of the work was kept: commits and pull requests, as the output of the commands that made them shows them, or as the
// client saw them made.
import { type DigestEvent, fullText } from './event.ts'

export interface Commit {
  sha: string
  subject: string
}

export interface Kept {
  commits: Commit[]
  pullRequests: string[]
}

/** What a command may make, and its output then shows. */
export interface Keeps {
  commits?: boolean
  requests?: boolean
}

/** Of one program of a pipe. */
function commitsByName(command: string): boolean {
  const at = command.search(/\bgit\b/)
  return at !== -1 && /\b(?:commit|cherry-pick)\b/.test(command.slice(at + 'git'.length))
}

const OPENS_REQUEST = /\b(?:pr|mr)[ -]?(?:create|submit)\b|\bgt (?:submit|ss)\b|\bgit push\b|\bpull-request\b/

/** Null for most commands. */
export function mayKeep(command: string): Keeps | null {
  const commits = command.split('|').some(commitsByName)
  const requests = OPENS_REQUEST.test(command)
  return commits || requests ? { commits, requests } : null
}

/** What a command that went well made. */
export function keptIn({ commits, requests }: Keeps, result: DigestEvent): Kept {
  const text = fullText(result)
  const made = result.body()?.made
  const named = (made?.commits ?? []).filter((sha) => /^[0-9a-f]{7,40}$/.test(sha))
  const shown = commits ? commitsIn(text) : []
  const isShown = (sha: string): boolean =>
    shown.some((one) => one.sha.startsWith(sha) || sha.startsWith(one.sha))
  return {
    // The client names a commit without its subject.
    commits: [...shown, ...named.filter((sha) => !isShown(sha)).map((sha) => ({ sha, subject: '' }))],
    pullRequests: [
      ...new Set([
        ...(requests ? pullRequestsIn(text) : []),
        ...(made?.pullRequests ?? []).flatMap(pullRequestsIn),
      ]),
    ],
  }
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
