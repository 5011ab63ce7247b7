// Which task a session is about. `UTF-8` and `SHA-256` have the form of a ticket: without being told the prefixes of one's
// tracker nobody can tell them apart. So a form alone counts only where people put tickets, in branches and directories;
// in a prompt it takes an address of a tracker, or a word that says what the number is.

import type { EventItem } from '../adapters/adapter.ts'
import { withoutPasted } from '../event/pasted.ts'

/** Where a text stands. */
export type TaskPlace = 'branch' | 'directory' | 'prompt'
export type TaskFinder = (text: string, place: TaskPlace) => string | undefined

/** The branch tells the task best, then the directory, then what was asked. */
export const TASK_RANK: Record<TaskPlace, number> = { branch: 3, directory: 2, prompt: 1 }

/** What a person asked for; a command that was typed may be told as an intervention. */
export const isAsked = ({ kind, role, isSidechain }: EventItem): boolean =>
  !isSidechain && (kind === 'user_msg' || (kind === 'human_intervention' && role === 'user'))

/** A paste may stand before what was asked. */
const MAX_PROMPT = 20_000
const MAX_READ = 2000

/** Finds a task reference: by the configured patterns (the first group, if there is one, is the reference), then by evidence. */
export function taskFinder(patterns: readonly string[]): TaskFinder {
  const compiled = patterns.map((pattern) => new RegExp(pattern, 'u'))
  return (told, place) => {
    const text = (place === 'prompt' ? withoutPasted(told.slice(0, MAX_PROMPT)) : told).slice(0, MAX_READ)
    for (const pattern of compiled) {
      const match = pattern.exec(text)
      if (match) return match[1] ?? match[0]
    }
    return place === 'prompt' ? inPrompt(text) : inName(text)
  }
}

const KEY = '[A-Z][A-Z0-9]+(?:-[A-Z][A-Z0-9]*)*-\\d+(?:-T\\d+)?'
/** Standards, algorithms and models, whose names look the same. */
const NO_TRACKER =
  /^(?:UTF|UCS|ISO|RFC|PEP|IEEE|ECMA|ES|SHA|MD|AES|RSA|DES|CRC|BLAKE|ED|HTTP|TLS|SSL|IPV|CVE|CWE|GPT|LLAMA|GEMMA|GLM|PHI|MI[SX]TRAL|DEEPSEEK|BASE|WIN|CP|LATIN|KOI|COVID)\d*-/

const isTicket = (key: string): boolean => !NO_TRACKER.test(key)

const KEY_IN_NAME = new RegExp(`(?<=^|[/\\\\_-])(${KEY})(?=$|[/\\\\_-])`, 'g')
const NUMBER_IN_NAME =
  /(?<=^|[/\\_-])(?:issues?|gh|pr|pull|bug|ticket|task)[-_/#]([1-9]\d{0,6})(?=$|[/\\_-](?!\d))/i

/** In the name of a branch or a directory: a ticket of its own, or a number with a word that says what it is, and is no date. */
function inName(name: string): string | undefined {
  const key = [...name.matchAll(KEY_IN_NAME)].map((match) => match[1] as string).find(isTicket)
  const [, number] = key === undefined ? (NUMBER_IN_NAME.exec(name) ?? []) : []
  return key ?? (number && `#${number}`)
}

/** Hosts of their own have the same paths as the public ones. */
const REPOSITORY_URL =
  /https?:\/\/[\w.-]+(?::\d+)?\/((?:[\w.-]+\/)+?)(?:-\/)?(?:issues|pull|pulls|merge_requests|pull-requests)\/(\d{1,7})\b/
const TRACKER_URL = new RegExp(
  `https?://[\\w.-]+(?::\\d+)?/(?:[\\w.-]+/)*(?:browse|issue|tickets?)/(${KEY})\\b`,
)
const WORD = '(?:issues?|pr|pull[ -]request|mr|merge[ -]request|ticket|bug|task|plan|story|epic)'
const NUMBER_BESIDE = new RegExp(`\\b${WORD}(?:\\s+(?:number|no\\.?))?\\s*[:(]?\\s*#(\\d{1,7})\\b`, 'i')
const OPTION = /(?<!\S)--(?:issue|pr|pull-request|mr|ticket)[ =]#?(\d{1,7})\b/
const CLOSES = /\b(?:fix(?:es|ed)?|close[sd]?|resolve[sd]?)(?:\s*:)?\s+#(\d{1,7})\b/i
/** A command named after what its only argument is. */
const COMMAND = new RegExp(`^/(?:[\\w.]+[:-])*${WORD}(?:[:-][\\w.]+)*\\s+#?(\\d{2,7})\\s*$`, 'im')
const KEY_BESIDE = new RegExp(
  `\\b(?:[Jj]ira|[Ll]inear|[Tt]icket|[Ii]ssue|[Tt]ask|[Ss]tory|[Ee]pic|[Bb]ug)\\s*:?\\s+(${KEY})\\b`,
)

function inPrompt(text: string): string | undefined {
  const [, repository, at] = REPOSITORY_URL.exec(text) ?? []
  if (repository !== undefined) return `${repository.replace(/\/$/, '')}#${at}`
  const [, key] = TRACKER_URL.exec(text) ?? KEY_BESIDE.exec(text) ?? []
  if (key !== undefined && isTicket(key)) return key
  for (const pattern of [NUMBER_BESIDE, OPTION, CLOSES, COMMAND]) {
    const [, number] = pattern.exec(text) ?? []
    if (number !== undefined) return `#${number}`
  }
  return undefined
}
