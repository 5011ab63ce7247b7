// What of the work was kept: commits and pull requests, as the output of the commands that made them shows them.

export interface Commit {
  sha: string
  subject: string
}

/** A cut summary may hide the part that commits. */
export const mayCommit = (command: string): boolean =>
  /\bgit\b[^|]*\bcommit\b/.test(command) || (command.endsWith('…') && /\bgit\b/.test(command))

export const mayOpenPullRequest = (command: string): boolean =>
  /\b(?:pr|mr)[ -]?(?:create|submit)\b|\bgt (?:submit|ss)\b|\bgit push\b|\bpull-request\b/.test(command)

// `[main 1a2b3c4] Say why`, `[main (root-commit) 1a2b3c4] Begin`, `[detached HEAD 1a2b3c4] …`
const COMMITTED = /^\[[^\]\n]*?\b([0-9a-f]{7,40})\] (.+)$/gm

export const commitsIn = (output: string): Commit[] =>
  [...output.matchAll(COMMITTED)].map(([, sha, subject]) => ({
    sha: sha as string,
    subject: (subject as string).trim().slice(0, 200),
  }))

const REQUEST = /https?:\/\/[^\s"'<>()[\]]+?\/(?:pull|pulls|merge_requests|pull-requests)\/\d+/g

export const pullRequestsIn = (output: string): string[] => [...new Set(output.match(REQUEST) ?? [])]
