// What a call tried to do, so that a later one can be known to try the same: its programs with what they were about, or the
// tool with its files. Two tries are compared by these words alone.
import { type Part, partsOf } from './command.ts'
import { toolClass } from './event.ts'
import { checks } from './hidden.ts'
import { gitCommand, isReading, type Looking, lookingOf } from './reading.ts'
import type { Step } from './step.ts'

export interface Try {
  /** The program with its command (`git fetch`), or what the tool does. */
  name: string
  /** Of programs that can stand in for one another. */
  family: string | null
  /** Files, patterns, names: without options and numbers. */
  words: string[]
  isCheck: boolean
  /** It is given what another prints. */
  isPiped: boolean
}

export interface Trial {
  tries: Try[]
  /** Of a command: it may have changed files. */
  isWriting: boolean
}

const MAX_TRIES = 8
const MAX_WORDS = 16
const WORD_LENGTH = 160

export function trialOf(step: Pick<Step, 'does' | 'tool' | 'subject' | 'asked' | 'files'>): Trial {
  if (step.does === 'shell') return { tries: triesIn(step.asked), isWriting: !isReading(step.asked) }
  if (step.does === 'spawn') return { tries: triesTold(step.asked), isWriting: true }
  const words = [
    ...step.files.map(normal),
    ...(step.files.length > 0 ? [] : [step.subject.slice(0, WORD_LENGTH)]),
  ]
  const name = step.does === 'edit' ? 'edit' : toolClass(step)
  const family = step.does === 'read' || step.does === 'search' ? step.does : null
  return {
    tries: [{ name, family, words: words.slice(0, MAX_WORDS), isCheck: false, isPiped: false }],
    isWriting: step.does === 'edit',
  }
}

/** `git rebase --abort` tries nothing again. */
const GIVES_UP = /^--(?:abort|quit|skip)$/

const triesIn = (command: string): Try[] =>
  partsOf(command)
    .filter(
      (part) =>
        !part.program.startsWith('$') &&
        lookingOf(part) !== 'print' &&
        !part.args.some((one) => GIVES_UP.test(one)),
    )
    .slice(0, MAX_TRIES)
    .map(tryOf)

/** The commands that a sub-agent is told to run stand in backticks, or are named. */
function triesTold(asked: string): Try[] {
  const blocks = [...asked.matchAll(/```\w*\n([\s\S]*?)```/g)].flatMap(([, block]) =>
    (block as string).split('\n'),
  )
  const told = [
    ...blocks,
    ...[...asked.matchAll(/`([^`\n]{2,300})`/g)].map(([, command]) => command as string),
  ]
  const found = told.filter((one) => /\s/.test(one)).flatMap(triesIn)
  const paths = pathsIn(asked)
  for (const [, name] of asked.matchAll(RUNNERS))
    if (found.length < MAX_TRIES && !found.some((one) => one.name.split(' ')[0] === name))
      found.push({ name: name as string, family: null, words: paths, isCheck: true, isPiped: false })
  return found.slice(0, MAX_TRIES)
}

const RUNNERS =
  /\b(pytest|ruff|mypy|ty|pyright|eslint|biome|prettier|tsc|jest|vitest|make|cargo|go|npm|pnpm)\b/g

const LOOK: Record<Looking, string> = {
  search: 'search',
  read: 'read',
  list: 'list',
  probe: 'probe',
  print: 'print',
}
const FAMILIES: [RegExp, string][] = [
  [/^(?:python[\d.]*|py)$/, 'python'],
  [/^pip[\d.]*$/, 'pip'],
  [/^(?:npm|pnpm|yarn|bun)$/, 'npm'],
  [/^(?:node|deno|tsx|ts-node)$/, 'node'],
  [/^(?:curl|wget|invoke-webrequest|iwr|invoke-restmethod|irm)$/, 'fetch'],
]
/** What they are given first is no command of theirs. */
const NO_COMMANDS =
  /^(?:python[\d.]*|py|node|deno|tsx|ruby|perl|bash|sh|zsh|pwsh|powershell|pytest|tsc|eslint|make|just)$/

/** Behind the command; a file as it was in some commit is that file. */
const gitArgs = (part: Part): string[] =>
  part.args.slice(part.args.indexOf(gitCommand(part))).map((one) => one.replace(/^[\w.~^-]{1,80}:(?=\w)/, ''))

function tryOf(part: Part): Try {
  const { program } = part
  const args = program === 'git' ? gitArgs(part) : part.args
  const looking = lookingOf(part)
  const family = looking ? LOOK[looking] : (FAMILIES.find(([names]) => names.test(program))?.[1] ?? null)
  const first = args.findIndex((one) => !one.startsWith('-'))
  const command = args[first]
  const hasCommand =
    command !== undefined &&
    (looking === null || program === 'git' || program === 'gh') &&
    !NO_COMMANDS.test(program) &&
    /^[a-z][a-z-]+$/.test(command)
  const rest = hasCommand ? args.filter((_, at) => at !== first) : args
  return {
    name: hasCommand ? `${program} ${command}` : program,
    family,
    words:
      looking === null
        ? [...wordsIn(rest), ...rest.filter((one) => /^\d{3,12}$/.test(one)).slice(0, 2)]
        : wordsIn(rest),
    isCheck: checks(part),
    isPiped: part.isPiped,
  }
}

function wordsIn(args: readonly string[]): string[] {
  const words = new Set<string>()
  for (const arg of args) {
    if (arg.startsWith('-') || /^[\d\s,.p$;:+~-]*$/.test(arg) || arg === '{}') continue
    if (arg.length > WORD_LENGTH || /[\n;(]/.test(arg)) for (const path of pathsIn(arg)) words.add(path)
    else words.add(normal(arg))
    if (words.size >= MAX_WORDS) break
  }
  return [...words]
}

/** Slashes one way, without what every path may begin with. */
export function normal(path: string): string {
  let rest = path.replaceAll('\\', '/')
  while (rest.startsWith('./')) rest = rest.slice(2)
  while (rest.endsWith('/')) rest = rest.slice(0, -1)
  return rest
}

const TOKEN = /[\w@.:\\/-]{4,160}/g
/** Behind a name stands the place in the file, and what ends the sentence. */
const FILE = /^((?:[A-Za-z]:)?[^:]*\.[A-Za-z]\w{0,7})(?::\d.*|[:.,-]+)?$/
const NO_FILES =
  /^(?:e\.g|i\.e|\d.*|https?:.*)$|\.(?:com|org|io|net|write|read|get|open|path|join|split|replace|text|Contains|Length|Count)$/

/** Names of files in a text. */
export function pathsIn(text: string, most = MAX_WORDS): string[] {
  const found = new Set<string>()
  for (const [token] of text.matchAll(TOKEN)) {
    const path = token.includes('.') ? FILE.exec(token)?.[1] : undefined
    if (path !== undefined && path.length > 2 && !NO_FILES.test(path)) found.add(normal(path))
    if (found.size >= most) break
  }
  return [...found]
}

export const baseOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

/** The same file, as far as two spellings tell: one may say more of where it is. */
export function isSameFile(a: string, b: string): boolean {
  const [one, other] = [normal(a).toLowerCase(), normal(b).toLowerCase()]
  if (one === other) return true
  const [short, long] = one.length < other.length ? [one, other] : [other, one]
  return long.endsWith(`/${short}`) && (/^(?:[a-z]:|\/)/.test(long) || !isCommon(short))
}

/** So many files are called so that the name alone says little. */
export const isCommon = (path: string): boolean =>
  /^(?:index\.\w+|mod\.rs|lib\.rs|main\.\w+|__init__\.py|readme\.md|package\.json|cargo\.toml|config\.\w+|types\.\w+)$/i.test(
    path,
  )

const isWord = (word: string): boolean => word.length > 1
const shared = (a: Try, b: Try): number =>
  a.words.filter((word) => isWord(word) && b.words.some((other) => isOneOrMany(word, other))).length

/** The same program about the same things: all that the shorter of both names, or at least half of what failed. */
export function isSameTry(failed: Try, now: Try): boolean {
  if (!isSameName(failed.name, now.name)) return false
  const both = shared(failed, now)
  // Two texts for one interpreter need not have anything in common; two words that each stand alone are two things to do.
  if (both === 0 && (INTERPRETERS.test(failed.name) || failed.name !== now.name)) return false
  if (areTwoThings(failed, now)) return false
  const least = Math.min(failed.words.length, now.words.length)
  return both >= least || both * 2 >= failed.words.length
}

/** Which command of a program is meant may be left open. */
const isSameName = (one: string, other: string): boolean =>
  one !== '' && (one === other || other.startsWith(`${one} `) || one.startsWith(`${other} `))

const INTERPRETERS = /^(?:python[\d.]*|py|node|deno|ruby|perl|bash|sh|zsh|pwsh|powershell)$/
const areTwoThings = (a: Try, b: Try): boolean => hasOwnWord(a, b) && hasOwnWord(b, a)
const hasOwnWord = (a: Try, b: Try): boolean =>
  a.words.some(
    (word) => /^(?:[a-z][a-z_-]*|\d+)$/.test(word) && !b.words.some((other) => isOneOrMany(word, other)),
  )

/** One and many of a thing are the same word. */
const isOneOrMany = (a: string, b: string): boolean =>
  a === b || (Math.abs(a.length - b.length) === 1 && (a === `${b}s` || b === `${a}s`))

/** A text that was given to an interpreter, and nothing else. */
export function isScript({ tries }: Trial): boolean {
  const [one, ...more] = tries.filter(({ name }) => name !== '')
  return more.length === 0 && INTERPRETERS.test(one?.name ?? '')
}

/** Another program of its kind, about one of the same things. */
export const isAlike = (failed: Try, now: Try): boolean =>
  shared(failed, now) > 0 &&
  (failed.name === now.name
    ? !areTwoThings(failed, now)
    : failed.family !== null && failed.family === now.family)

export const sharesWord = (failed: Try, now: Try): boolean => shared(failed, now) > 0

/** The same object by another program: `gh pr ready` for `tool pr submit`. */
export function isSameObject(failed: Try, now: Try): boolean {
  const [one, object] = failed.name.split(' ')
  const [other, same] = now.name.split(' ')
  return (
    one !== other && object !== undefined && object === same && !VERBS.test(object) && now.family === null
  )
}

/** What many programs can be told to do is not what it is done to. */
const VERBS =
  /^(?:init|run|exec|start|stop|install|add|remove|list|show|get|set|create|update|status|version|help)$/
