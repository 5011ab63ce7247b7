// Whether a digest that a machine pushed is of a version that can be shown here: the server keeps what it was sent.
const LISTS = ['error_snippets', 'commits', 'pull_requests', 'files', 'signals', 'tests', 'subagents']
const OBJECTS = ['cost', 'metrics', 'markers', 'outcome_detail', 'coverage', 'evidence']

export const isWholeDigest = (found: Record<string, unknown>): boolean =>
  LISTS.every((name) => Array.isArray(found[name])) &&
  OBJECTS.every((name) => typeof found[name] === 'object' && found[name] !== null)
