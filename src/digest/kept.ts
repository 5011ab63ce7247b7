// What of the work was kept: commits and pull requests, as the output of the commands that made them shows them, or as the
// client saw them made.
import { type DigestEvent, textOf } from './event.ts'

export interface Commit {
  sha: string
  subject: string
}

export interface Kept {
  commits: Commit[]
  pullRequests: string[]
}

/** A cut summary may hide the part that commits. */
const mayCommit = (command: string): boolean =>
  command.split('|').some(commitsByName) || (command.endsWith('…') && /\bgit\b/.test(command))

/** Of one program of a pipe. */
function commitsByName(command: string): boolean {
  const at = command.search(/\bgit\b/)
  return at !== -1 && /\b(?:commit|cherry-pick)\b/.test(command.slice(at + 'git'.length))
}

const mayOpenPullRequest = (command: string): boolean =>
  /\b(?:pr|mr)[ -]?(?:create|submit)\b|\bgt (?:submit|ss)\b|\bgit push\b|\bpull-request\b/.test(command)

const mayHaveTold = (command: string): boolean => /\b(?:gh|glab)\s+(?:pr|mr)\b/.test(command)

/** What a command that went well made, where it may have made any. */
export function keptIn(command: string, result: DigestEvent): Kept {
  const [commits, requests] = [mayCommit(command), mayOpenPullRequest(command)]
  if (!(commits || requests || mayHaveTold(command))) return { commits: [], pullRequests: [] }
  const body = result.payload()
  const text = textOf(body) || result.summary
  const told = toldIn(body)
  const shown = commits ? commitsIn(text) : []
  const isShown = (sha: string): boolean =>
    shown.some((one) => one.sha.startsWith(sha) || sha.startsWith(one.sha))
  return {
    // The client names a commit without its subject.
    commits: [...shown, ...told.commits.filter((sha) => !isShown(sha)).map((sha) => ({ sha, subject: '' }))],
    pullRequests: [...new Set([...(requests ? pullRequestsIn(text) : []), ...told.pullRequests])],
  }
}

/** What the adapter put beside the result. */
function toldIn(body: unknown): { commits: string[]; pullRequests: string[] } {
  const kept = fieldsOf(fieldsOf(body)['kept'])
  const texts = (list: unknown): string[] =>
    Array.isArray(list) ? list.filter((one): one is string => typeof one === 'string') : []
  return {
    commits: texts(kept['commits']).filter((sha) => /^[0-9a-f]{7,40}$/.test(sha)),
    pullRequests: texts(kept['pull_requests']).flatMap(pullRequestsIn),
  }
}

const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

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
