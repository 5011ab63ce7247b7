// The names of our formats' files, for those who only look for them.

export const PLAIN = 'transcript.json'
export const GZIPPED = 'transcript.json.gz'
export const JOURNAL = 'transcript.partial.jsonl'
export const DEFAULT_HISTORY_FILE = 'session_history.jsonl'
