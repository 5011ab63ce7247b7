// What the words of a failure tell of what would overcome it: a program or a file that is not there, a call that was put
// wrongly, the files it names.
import { missingCommand } from './shape.ts'
import { normal, pathsIn } from './trial.ts'

export interface Failing {
  /** As facts are kept of it: fingerprint and what it is about. */
  key: string
  kind: 'program' | 'path' | 'call' | 'unread' | 'syntax' | 'time' | 'world' | 'exists' | 'other'
  /** What is not there: a program, a module, a file. */
  missing: string
  /** The program that says so; empty where none speaks in its own name. */
  speaker: string
  /** Files that it names, and how many of them in the line that tells it. */
  names: string[]
  own: number
  /** What it quotes, and the numbers of what it is about. */
  things: string[]
  /** Codes and names by which a later output says the same, its own first. */
  marks: string[]
  /** How far it came: 0 nothing was built, 1 it did not build, 2 what was built failed. */
  stage: number
}

const BAD_CALL =
  /\bfailed to parse function arguments\b|\bInputValidationError\b|^unsupported call\b|^Unknown skill\b/
const SYNTAX =
  /^Missing (?:file specification|argument|expression|type name|closing|opening|statement)|\boperator is reserved\b|\bterminator\b|\bunexpected EOF\b|^Unexpected token '|\bvalid statement separator\b|\bsyntax error near\b|\bunterminated\b|^An expression was expected|\bVariable reference is not valid\b|\bregex parse error\b|\blook-?(?:around|ahead|behind)\b.{0,60}\bnot supported\b|\bcannot create temp file for here document\b/i
const MODULE =
  /\bNo module named '?([\w.-]+)|\bCannot find (?:module|package) '([^'./][^']*)'|\bunlinked crate `(\w+)`|\bprovides package (\S+?)[;:]|\bCould not find a declaration file for module '([^']+)'/
const TESTED =
  /\bpanicked at\b|^E\s{2,}|\bAssertionError\b|^\s*● |^--- FAIL|^FAILED\b|\btests? failed\b|\bassert\b|\bexpect\(/i
const NOT_BUILT =
  /\berror(?:\[E\d+\]| (?:TS|CS)\d+)|\bcould not compile\b|\bSyntaxError\b|\bImportError\b|\bModuleNotFoundError\b|\bcannot find (?:name|value|type)\b/i
const MARK = /\b[A-Z]{1,4}\d{3,5}\b|\btest_\w+|\b[A-Z]\w*(?:Error|Exception)\b|\bTest[A-Z]\w+/g
const PLACE = /^\s{0,20}(?:--> )?[\w@./\\-]{1,200}\.\w{1,8}:\d/
const DEPENDENCY = /\bfailed to get `[^`]{1,80}` as a dependency\b/
const MAX_NAMES = 12
const MAX_MARKS = 40
const LOOKED_AT = 8000
/** Files of others are not what has to be changed. */
const OTHERS =
  /(?:^|\/)(?:node_modules|site-packages|\.cargo|\.rustup|registry|lib\/python[\d.]+|usr\/lib|dist-packages)\//

export function failingOf(key: string, sample: string, about: string, text: string): Failing {
  const program = missingCommand(sample)
  const kind = kindOf(sample, about, program)
  // Only of what is mended by edits it matters what else is said.
  const beginning = kind === 'other' ? text.slice(0, LOOKED_AT) : ''
  const module = MODULE.exec(beginning)?.slice(1).find(Boolean)
  // Of what could not be fetched, only the list it stands in is ours.
  const ours = (path: string): boolean =>
    !OTHERS.test(path) && (!DEPENDENCY.test(sample) || path.endsWith('Cargo.toml'))
  const told = [...foldersIn(sample), ...pathsIn(sample)].filter(ours).slice(0, MAX_NAMES)
  const own = told.length > 0 || kind !== 'other' ? told : placeBehind(sample, beginning).filter(ours)
  const names = new Set([...own, ...pathsIn(beginning, 4 * MAX_NAMES).filter(ours)])
  return {
    key,
    kind,
    speaker: speakerIn(sample),
    missing: program ?? module ?? (kind === 'path' ? about : ''),
    names: [...names].slice(0, MAX_NAMES),
    own: new Set(own).size,
    things: thingsIn(sample),
    marks: marksIn(`${sample}\n${beginning}`),
    stage: TESTED.test(sample) ? 2 : NOT_BUILT.test(sample) ? 1 : 0,
  }
}

const PLACE_LINES = 3

/** Compilers and runners say what is wrong, and on one of the next lines where. */
function placeBehind(sample: string, text: string): string[] {
  const at = text.indexOf(sample.replace(/…$/, ''))
  const next = at === -1 ? [] : text.slice(at, at + 1000).split('\n', PLACE_LINES + 1)
  const place = next.slice(1).find((line) => PLACE.test(line))
  return place === undefined ? [] : pathsIn(place, 1)
}

function marksIn(text: string): string[] {
  const marks = new Set<string>()
  for (const [mark] of text.matchAll(MARK)) if (marks.size < MAX_MARKS) marks.add(mark)
  return [...marks]
}

const MAX_THINGS = 4

function thingsIn(sample: string): string[] {
  const quoted = [...sample.matchAll(/(['"`])([^\s'"`]{2,120})\1/g)].map(([, , word]) =>
    normal(word as string),
  )
  const numbers = [...sample.matchAll(/(?:\/pull\/|(?<![\w.:/-])#?)(\d{3,9})(?![\w.:-])/g)].map(
    ([, number]) => number as string,
  )
  return [...new Set([...quoted, ...numbers])].slice(0, MAX_THINGS)
}

function speakerIn(sample: string): string {
  if (/^fatal: /.test(sample)) return 'git'
  return /^(?:\S*sh: (?:line \d+: )?)?([a-z][\w.+-]*) ?: /i.exec(sample)?.[1]?.toLowerCase() ?? ''
}

const foldersIn = (sample: string): string[] =>
  [
    ...sample.matchAll(/(?<![\w:/.-])\.?[\w-]{1,80}\/(?:[\w.-]{1,80}\/){0,8}[\w.-]{0,80}(?=[\s'"`:,]|$)/g),
  ].map(([path]) => normal(path))

function kindOf(sample: string, about: string, program: string | undefined): Failing['kind'] {
  if (program !== undefined) return 'program'
  if (BAD_CALL.test(sample)) return 'call'
  if (/\bhas not been read yet\b/.test(sample)) return 'unread'
  if (SYNTAX.test(sample)) return 'syntax'
  // What was to be made is there: it is changed, or taken as it is.
  if (/\b(?:pull request|branch)\b/.test(sample) && / already exists\b/.test(sample)) return 'exists'
  if (/\btimed out\b|\bkilled by a signal\b/.test(sample)) return 'time'
  // No edit of the code lets a sandbox, a network or a provider through.
  if (
    /^API Error: [45]|\bnot permitted\b|\bPermission denied\b|\bto bind\b|\bresolve host\b|\bfailed to (?:download|fetch)|\bECONN|\bConnection (?:refused|reset)\b/i.test(
      sample,
    )
  )
    return 'world'
  return about !== '' || /^(?:File|Path) does not exist\b/.test(sample) ? 'path' : 'other'
}
