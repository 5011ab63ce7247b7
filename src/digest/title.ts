// One line that tells a session from others: the name it was given, else what was asked for, in the words it was asked in. What
// stands around a request (templates, pasted pages, output, greetings) is not the request; a bare command says little without
// what it was about. docs/digest.md lists the sources.
import { isPrinted, linesIn } from '../event/pasted.ts'
import type { TitleSource } from '../model.ts'

export interface Title {
  text: string
  source: TitleSource
}

export const NOTHING_ASKED: Title = { text: 'nothing asked', source: 'none' }

const MAX_TITLE = 140
/** Beyond this nobody looks for the request, unless at the end. */
const MAX_READ = 8000
const END_READ = 1000
const SHORT = 16

/** On one line, cut at a word where there is one. */
export function cutTitle(text: string, limit = MAX_TITLE): string {
  const line = text.replace(/\s+/gu, ' ').trim()
  if (line.length <= limit) return line.toWellFormed()
  const cut = line.slice(0, limit - 1)
  const at = cut.lastIndexOf(' ')
  return `${(at > limit * 0.7 ? cut.slice(0, at) : cut).replace(/[\s,;:–—-]{1,9}$/u, '')}…`.toWellFormed()
}

/** What a prompt asks for, in one line; empty where it has no words. */
export function requestIn(prompt: string): string {
  const text = withoutLinks(prompt.slice(0, MAX_READ)).trim()
  if (COMMAND.test(text)) return cutTitle(text)
  const lines = linesOf(text)
  const [first = ''] = lines
  if (lines.length <= 1) return cutTitle(bare(first))
  return cutTitle(
    headingOfPlan(lines) ??
      nameOfPage(lines) ??
      ownWords(lines, prompt) ??
      taskIn(lines) ??
      (isToCome(first) ? taskIn(lines.slice(1)) : undefined) ??
      opening(lines),
  )
}

const COMMAND = /^\/\w[\w:.-]*(?:\s|$)/
const OPTION = /^--?\w[\w-]*$/
const GIVEN = /^(?:--?\w[\w-]*=[^\s-]|#?\d+$|\w+=\S|[^\s/]*\/\S)/

/** A command without a word on what it is about: behind its name only options, numbers, addresses and paths. */
export function isBareCommand(text: string): boolean {
  if (!COMMAND.test(text)) return false
  const [, ...words] = text.trim().split(/\s+/)
  // What stands behind an option may be its value.
  return words.every(
    (word, at) =>
      OPTION.test(word) || GIVEN.test(word) || (!word.startsWith('-') && OPTION.test(words[at - 1] ?? '')),
  )
}

const POINTER = /(?:^|[\s`'"@(])((?:[A-Za-z]:)?[\w.~\\/-]{1,200}\.(?:mdx?|markdown|txt|rst))[`'")]?[.!]?$/i

/** The file in which the request stands, where it is no more than to carry that out. */
export function pointedTo(request: string): string | undefined {
  const path = request.length < 160 ? POINTER.exec(request.trim())?.[1] : undefined
  const isAll = path !== undefined && request.trim().length <= path.length + 3
  return isAll || /\b(?:read|execute|follow|implement|carry out|run)\b/i.test(request) ? path : undefined
}

/** Whether one can tell by it what was wanted: `hi`, `/`, `continue` and mere output tell nothing. */
export const isTelling = (request: string): boolean =>
  COMMAND.test(request) ||
  (!isPrinted(request) &&
    ((wordCount(request) >= 2 && !goesOn(request)) ||
      /\p{L}{12}/u.test(request) ||
      /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Hangul}]{4}/u.test(request)))

const GOING_ON = new Set(
  'please can you just recover and keep going go on ahead continue proceed resume carry start again it with this that the work where we left off next do yes ok okay finish now to'.split(
    ' ',
  ),
)

/** To go on with what is not said. */
const goesOn = (request: string): boolean =>
  request.length < 100 &&
  request
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .every((word) => word === '' || GOING_ON.has(word))

const wordCount = (text: string): number => text.match(/[\p{L}\p{N}_]+/gu)?.length ?? 0

/** Links to skills and pictures stand before what is to be done with them. */
function withoutLinks(text: string): string {
  const rest = text
    .replace(/^(?:\s*(?:\[\$[\w:.-]+\]\([^)\n]*\)|\[Image #\d+\]|<image[^>\n]*>|<\/image>))+/u, '')
    .trim()
  return rest === '' ? text.replace(/\]\([^)\n]{0,500}\)/g, ']') : rest
}

/** Lines with words in them; no rules, fences and frames. */
const linesOf = (text: string): string[] =>
  linesIn(text)
    .map((line) => line.trim())
    .filter(
      (line) =>
        /[\p{L}\p{N}]/u.test(line) &&
        !/^(?:```|~~~)/.test(line) &&
        !/^(?:<\/?[\w-]+>|\[\[ ## \w+ ## \]\])$/.test(line),
    )

/** Without the marks of headings, quotes, lists and bold type. */
const bare = (line: string): string =>
  line
    .replace(/^(?:[#>*:=\s]|-\s|\d+[.)]\s)+/u, '')
    .replace(/\*\*|__/g, '')
    .replace(/[\s#*:=]{1,20}$/u, '')

const PLAN = /^(?:please )?(?:implement|execute|carry out|follow)\b[^.\n]{0,40}\bplan\b[^.\n]{0,20}:?$/i

function headingOfPlan([first = '', ...rest]: readonly string[]): string | undefined {
  if (!PLAN.test(bare(first))) return undefined
  const heading = rest.find((line) => /^#+ /.test(line)) ?? rest[0]
  return heading && nameOfPlan(bare(heading))
}

/** `Plan: Fix it` and `[plan] Fix it` are called after what they are for. */
export const nameOfPlan = (heading: string): string =>
  heading
    .replace(/^(?:\[[\w -]{1,20}\]\s*)+/, '')
    .replace(/^(?:implementation )?plan:\s*/i, '')
    .trim() || heading

const PAGE_FROM = 30

/** A page of a tracker, pasted whole: its name stands behind its number. */
function nameOfPage(lines: readonly string[]): string | undefined {
  if (lines.length < PAGE_FROM) return undefined
  const found = lines
    .slice(0, 120)
    .map((line) => /^#\d{1,7}\s{1,9}(\S.{7,300})/.exec(line)?.[1])
    .find(Boolean)
  return found && nameOfPlan(found)
}

const ASKING =
  /\b(?:can|could|would|will) you\b|\bplease\b|\bhow (?:do|can|to)\b|\bwhy\b|\?$|^(?:fix|solve|implement|make|add|create|debug|check|explain|resolve|find|look|review|update|remove|use|write)\b/i

/** Output that was pasted first: what is wanted stands behind it, in the person's own words. */
function ownWords(lines: readonly string[], prompt: string): string | undefined {
  if (!isPrinted(lines[0] ?? '')) return undefined
  const end = prompt.length > MAX_READ ? linesOf(prompt.slice(-END_READ)) : lines
  const own = end.slice(1).findLast((line) => !isPrinted(line) && ASKING.test(line) && wordCount(line) >= 3)
  const last = end.slice(1).at(-1) ?? ''
  return own ?? (isPrinted(last) || wordCount(last) < 4 ? undefined : last)
}

/** Headings that every prompt of a template has, and fields in it. */
const FRAME =
  /^(?:the |your |my )?(?:user )?(?:input|request|instructions?|context|task|goal|objective|mission|role|identity|prompt|background|overview|outline|summary|description|system|arguments?)$/i
const ABOUT_AGENT = /\b(?:prompt|role|agent \d+)\b/i
/** A command or a sentence may hold these words as well. */
const isFrame = (line: string): boolean =>
  FRAME.test(line) || (line.length < 80 && !/[`/{}=<>]|--/.test(line) && ABOUT_AGENT.test(line))
const TASK =
  /^(?:the |your |my |current )?(?:specific |main |primary )?(?:tasks?|goals?|objectives?|mission|user (?:input|request|story)|request|what to do|problem(?: statement)?|arguments?)$/i
const FIELD =
  /^\W*(?:your |the )?(?:specific |main |primary )?(?:task|goal|objective|mission|request)\W{0,3}:\W{0,3}\s*(\S.{7,})$/i
const isMarked = (line: string): boolean =>
  /^(?:#+ |:::|===|\*\*)/.test(line) || /^[\p{Lu}\d\s_():—-]{8,}$/u.test(line)
/** The rest is below. */
const isToCome = (line: string): boolean => line.length < 100 && /(?::|\bfollowing\b.{0,20})$/i.test(line)

/** A prompt made of a template: what is special in it is the task. */
function taskIn(lines: readonly string[]): string | undefined {
  const [first = ''] = lines
  if (!isMarked(first) && !isFrame(bare(first))) return undefined
  const heading = bare(first)
  if (!isFrame(heading) && !TASK.test(heading)) return undefined
  const task = fieldOf(lines) ?? behindHeading(lines)
  if (task === undefined) return undefined
  return isFrame(heading) && wordCount(heading) >= 3 ? `${bare(task)} · ${heading}` : bare(task)
}

const fieldOf = (lines: readonly string[]): string | undefined =>
  lines
    .slice(0, 60)
    .map((line) => FIELD.exec(line)?.[1])
    .find(Boolean)

function behindHeading(lines: readonly string[]): string | undefined {
  const at = lines.findIndex((line) => isMarked(line) && TASK.test(bare(line)))
  const below = lines.slice(at === -1 ? 1 : at + 1)
  const first = below.findIndex((line) => !isToCome(line) && wordCount(line) >= 3 && !isFrame(bare(line)))
  return first === -1 ? below[0] : below[first]?.replace(/^(\W*)(?:task|step) \d+\W+/i, '$1')
}

const OF_WHAT_FOLLOWS =
  /\b(?:this|these)(?=$|[.,:;?!]|\s+(?:using|with|by|in|via|have|has|is|was|for|and|according|on|at|to|please|through|as)\b)/i

/** The first line, and the next ones where it says too little, announces them or is about them. */
function opening(lines: readonly string[]): string {
  let text = bare(lines[0] ?? '')
  if (OF_WHAT_FOLLOWS.test(text) && text.length < 100) {
    const next = lines.slice(1, 6).find((line) => wordCount(line) >= 4 && !isToCome(line))
    if (next !== undefined) return `${text} · ${bare(next)}`
  }
  let isDone = !isToCome(lines[0] ?? '')
  for (const line of lines.slice(1, 4)) {
    if (isDone && (text.length >= SHORT || wordCount(text) >= 3) && isTelling(text)) break
    text = `${text}${isDone ? '' : ':'} ${bare(line)}`
    isDone = !isToCome(line)
  }
  return text
}

const NO_TOPIC =
  /^(?:main|master|trunk|develop(?:ment)?|dev|head|staging|production|release|gh-pages|default)$/i

/** The topic in the name of a branch; undefined where there is none. */
export function topicOfBranch(branch: string): string | undefined {
  if (NO_TOPIC.test(branch)) return undefined
  const topic = branch
    .replace(/^.*\//, '')
    .replace(/[-_](?:\d{4}[-_])?\d\d[-_]\d\d(?:[-_]\d{2,4})?$/, '')
    .replace(/^[A-Za-z]{0,8}-?\d+[-_](?=[A-Za-z])/, '')
    .replace(/[-_]+/g, ' ')
    .trim()
  return wordCount(topic) >= 2 ? topic : undefined
}
