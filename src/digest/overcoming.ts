// Whether a later call shows that a failure is overcome: it tries the same thing and succeeds. By what failed: a program or a
// file that was not there, a file that could not be changed, a call that was put wrongly, a check.
import { toolClass } from './event.ts'
import type { Failing } from './failing.ts'
import { isCounting } from './reading.ts'
import type { Resolution } from './resolution.ts'
import type { Step } from './step.ts'
import {
  baseOf,
  isAlike,
  isSameFile,
  isSameObject,
  isSameTry,
  isScript,
  normal,
  pathsIn,
  sharesWord,
  type Trial,
  type Try,
} from './trial.ts'

/** The last time a failure happened, and what overcame it. */
export interface Unmended extends Failing {
  order: number
  seq: number
  isSidechain: boolean
  tool: string
  does: Step['does']
  what: string
  files: string[]
  trial: Trial
  isCheck: boolean
  isTest: boolean
  resolution: Resolution | null
}

/** A step with what is known of it here. */
export interface Done {
  step: Step
  order: number
  what: string
  isCheck: boolean
  trial: Trial
}

/** So many calls later a try counts as the next one, as one of those after it, or as one of the same work. */
const NEXT = 3
const SOON = 8
const LATER = 40

/** The same check, run again. */
export function isSameCheck(failed: Unmended, { trial }: Done): boolean {
  return triesOf(failed).some((one) => trial.tries.some((other) => isSameTry(one, other)))
}

/** Whether a success shows that what failed is overcome. */
export function overcomes(failed: Unmended, done: Done): boolean {
  const { step, order, what } = done
  const distance = order - failed.order
  if (failed.isCheck && step.does === 'shell' && what !== failed.what && isCounting(step.asked)) return false
  if (failed.does === 'edit' || failed.what.includes('*** Begin Patch')) return changes(failed, done)
  if (wasToWrite(failed) && distance <= SOON && changes(failed, done)) return true
  if (failed.kind === 'call')
    return (
      what === failed.what ||
      (distance <= SOON && (toolClass(step) === failed.tool || isGivenTo(what, failed.what)))
    )
  if (what === failed.what || isMistyped(failed, done)) return true
  return (
    (distance <= LATER || (failed.isTest && step.isTest)) &&
    triesTheSame(failed, done, distance) &&
    !goesRound(what, failed.what)
  )
}

/** What a tool that is not there was given, as a tool that is there was given it. */
const isGivenTo = (what: string, failed: string): boolean => failed.includes(`"${what}"`)

/** A text that never ran, or ran and broke, was to change files: so they are not changed yet. */
const wasToWrite = ({ does, kind, files, trial }: Unmended): boolean =>
  does === 'shell' && files.length > 0 && (kind === 'syntax' || kind === 'program' || isScript(trial))

/** The same program with a name that is spelled almost so: what was not there was mistyped. However it ends, it is there. */
export function isMistyped(failed: Unmended, { order, trial }: Done): boolean {
  if (order - failed.order > NEXT) return false
  const named = [...failed.things, ...failed.names, failed.missing].filter((name) => name !== '')
  const isMeant = (word: string, other: string | undefined): boolean =>
    other !== undefined && isSpelledAlike(word, other) && named.some((name) => isSameFile(name, word))
  return triesOf(failed).some((one) =>
    trial.tries.some(
      (other) =>
        one.name === other.name &&
        one.words.length === other.words.length &&
        one.words.every((word, at) => word === other.words[at] || isMeant(word, other.words[at])) &&
        one.words.some((word, at) => word !== other.words[at]),
    ),
  )
}

/** One letter more, less or another, or two of them swapped. */
function isSpelledAlike(one: string, other: string): boolean {
  if (one.length < 4 || Math.abs(one.length - other.length) > 1) return false
  let from = 0
  while (one[from] === other[from]) from++
  let end = 1
  while (one.at(-end) === other.at(-end) && end <= Math.min(one.length, other.length) - from) end++
  const [a, b] = [one.slice(from, one.length - end + 1), other.slice(from, other.length - end + 1)]
  return a.length <= 1 && b.length <= 1
    ? true
    : a.length === 2 && b.length === 2 && a[0] === b[1] && a[1] === b[0]
}

function triesTheSame(failed: Unmended, done: Done, distance: number): boolean {
  const { step, what, trial } = done
  if (failed.kind === 'program') return distance <= 2 * SOON && standsIn(failed, trial, distance)
  if (failed.kind === 'exists')
    return (
      distance <= SOON &&
      pairs(failed, trial, (one, other) => one.name === other.name && isOf(failed.things, other))
    )
  if (failed.kind === 'path' && isFound(failed, done, distance)) return true
  if (failed.kind === 'path' && failed.trial.tries.every((one) => isLooking(one.family))) return false
  if (failed.kind === 'syntax') return distance <= SOON && putsOtherwise(failed, trial)
  if (distance <= LATER && pairs(failed, trial, isSameTry)) return true
  // All tests pass, whoever runs them.
  if (failed.isTest && step.isTest && trial.tries.some((one) => one.isCheck && one.words.length === 0))
    return true
  // The same text for an interpreter, put a little otherwise.
  if (
    distance < NEXT &&
    step.does === 'shell' &&
    beginsAlike(what, failed.what) &&
    (failed.files.length === 0 || changes(failed, done))
  )
    return true
  if (
    distance <= SOON &&
    pairs(failed, trial, (one, other) => isAlike(one, other) || isSameObject(one, other))
  )
    return true
  if (distance <= SOON && failed.trial.isWriting === trial.isWriting && isOfNumber(failed, trial)) return true
  const areWriting = failed.trial.isWriting && trial.isWriting && !failed.isCheck
  return areWriting && pairs(failed, trial, (one, other) => one.name === other.name && sharesFile(one, other))
}

/** What no shell understood, said so that it does. A script that only looked at a file is replaced by any look at it. */
function putsOtherwise(failed: Unmended, trial: Trial): boolean {
  const onlyLooked = failed.files.length === 0 && isScript(failed.trial) && !WRITES.test(failed.what)
  if (!trial.isWriting && failed.trial.isWriting && !onlyLooked) return false
  const looked = onlyLooked ? pathsIn(failed.what) : []
  return (
    pairs(failed, trial, (one, other) => one.name === other.name || sharesWord(one, other)) ||
    trial.tries.some(({ words }) => words.some((word) => looked.some((path) => isSameFile(path, word))))
  )
}

const isOf = (things: readonly string[], { words }: Try): boolean =>
  words.some((word) => things.includes(word))

/** What the failure calls by its number, by another program. */
function isOfNumber({ things, trial: failed }: Unmended, { tries }: Trial): boolean {
  const numbers = things.filter((one) => /^\d{3,}$/.test(one))
  const programs = new Set(failed.tries.map(({ name }) => name.split(' ')[0]))
  return tries.some(
    ({ name, words }) =>
      !programs.has(name.split(' ')[0]) &&
      words.some((word) => numbers.some((number) => word === number || word.endsWith(`/${number}`))),
  )
}

/** What failed is left out, or only asked about: so it was gone round, and not mended. */
const countOf = (what: string, pattern: RegExp): number => [...what.matchAll(pattern)].length
export const goesRound = (what: string, failed: string): boolean =>
  countOf(what, LEAVES_OUT) > countOf(failed, LEAVES_OUT) || (MERELY.test(what) && !MERELY.test(failed))
const LEAVES_OUT = /--(?:ignore|deselect|exclude|skip)\b|-k ["']?not /g
const MERELY = /(?:^|\s)(?:--(?:help|version|dry-run|no-run|collect-only|listTests)|-h|-V)(?=\s|$)/

/** Of several programs the one that speaks failed, or the check; hardly ever one that makes room for others. */
function triesOf({ trial, isCheck: hasCheck, speaker, things, files }: Unmended): readonly Try[] {
  for (const fits of [
    // What it says is about what this one was given.
    ({ words }: Try) => words.some((word) => things.includes(word)),
    ({ name, isPiped }: Try) => speaker !== '' && !isPiped && name.split(' ')[0] === speaker,
    ({ isCheck: checks }: Try) => hasCheck && checks,
    // What only looked at what another was to change did not fail.
    ({ name, family }: Try) =>
      !(files.length > 0 && isLooking(family)) &&
      !/^(?:rm|mkdir|touch|cp|mv|sleep|kill|remove-item|new-item)$/.test(name),
  ]) {
    const own = trial.tries.filter(fits)
    if (own.length > 0) return own
  }
  return trial.tries
}

const isLooking = (family: string | null): boolean => /^(?:search|read|list|probe|print)$/.test(family ?? '')

const ALIKE = 40
const beginsAlike = (one: string, other: string): boolean => one.slice(0, ALIKE) === other.slice(0, ALIKE)

const pairs = (failed: Unmended, trial: Trial, fits: (one: Try, other: Try) => boolean): boolean =>
  triesOf(failed).some((one) => trial.tries.some((other) => fits(one, other)))

const sharesFile = (one: Try, other: Try): boolean =>
  one.words.some((word) => /\.\w{1,8}$/.test(word) && other.words.includes(word))

const WRITES =
  /(?<![=-])>(?!&|\s*\/dev)|\btee\b|\bsed\b.{0,80} -i|\bperl\b.{0,80} -\w{0,8}i|\bwrite_text\b|\bwritelines\b|\.write\(|\bwriteFile|\bSet-Content\b|\bAdd-Content\b|\bOut-File\b|\bWriteAll|\bgit (?:apply|checkout|restore)\b|\bpatch\b|\b(?:cp|mv) /i

/** The file is changed after all, by the same tool, another one or a command. */
function changes(failed: Unmended, { step, trial, order }: Done): boolean {
  // What was not there was called by a wrong path.
  const isMeant = (own: string, file: string): boolean =>
    isSameFile(own, file) ||
    (failed.kind === 'path' && order - failed.order <= NEXT && baseOf(own) === baseOf(normal(file)))
  if (step.does === 'edit') return step.files.some((file) => failed.files.some((own) => isMeant(own, file)))
  if (step.does !== 'shell') return false
  if (failed.files.some((file) => step.writes.some((written) => isSameFile(written, file)))) return true
  if (!WRITES.test(step.asked)) return false
  return failed.files.some((file) =>
    trial.tries.some(({ words }) => words.some((word) => isSameFile(word, file))),
  )
}

/** Another program does what the missing one was to do, or it is there now. */
function standsIn(failed: Unmended, trial: Trial, distance: number): boolean {
  const program = failed.missing
  const isIt = (one: Try): boolean => one.name.split(' ')[0] === program
  if (trial.tries.some(isIt)) return true
  // One only looked whether it is there.
  if (trial.tries.some((one) => one.family === 'probe')) return false
  const wanted = failed.trial.tries.filter(isIt)
  // One that is only given what another prints is about what that one is about.
  const about = wanted.some((one) => one.words.length > 0) ? wanted : failed.trial.tries
  return about.some((one) => trial.tries.some((other) => takesItsPlace(one, other, wanted, distance)))
}

function takesItsPlace(one: Try, other: Try, wanted: readonly Try[], distance: number): boolean {
  if (isSameTry(one, other)) return true
  if (distance <= SOON && (sharesWord(one, other) || isNameIn(one, other))) return true
  if (!wanted.includes(one)) return false
  // A list of files is no search in them.
  const isKin = one.family !== null && one.family !== 'read' && one.family === other.family
  return distance <= NEXT && !/^g(?:it|h) /.test(other.name) && isKin
}

/** `cargo fmt` for `just fmt`: what one runner takes for a word is a command of the other. */
function isNameIn(one: Try, other: Try): boolean {
  const [, command] = one.name.split(' ')
  const [, same] = other.name.split(' ')
  return (
    (command !== undefined && command === same) ||
    one.words.includes(same ?? '') ||
    other.words.includes(command ?? '')
  )
}

/** The folder that a pattern begins with. */
const beforeStar = (word: string): string =>
  word.includes('*') ? normal(word.slice(0, word.indexOf('*'))) : word

const FEWEST_LETTERS = 4

/** Whether a name is one that a pattern finds. */
function isFitting(name: string, pattern: string): boolean {
  const pieces = pattern.toLowerCase().split('*')
  if (pieces.length === 1 || pieces.join('').length < FEWEST_LETTERS) return false
  let from = 0
  return pieces.every((piece) => {
    const at = name.toLowerCase().indexOf(piece, from)
    from = at + piece.length
    return at !== -1
  })
}

/** What was not there was found elsewhere, or one looked what there is. */
function isFound(failed: Unmended, { step, trial }: Done, distance: number): boolean {
  // Who only looked for a file is not helped by what is done to it later.
  if (step.foundNothing || (trial.isWriting && !failed.trial.isWriting)) return false
  const path = normal(failed.missing || failed.files[0] || '')
  const base = baseOf(path)
  const words = [...step.files.map(normal), ...trial.tries.flatMap((one) => one.words)]
  if (base.includes('.') && distance <= LATER && words.some((word) => isSameFile(word, path))) return true
  if (distance > SOON) return false
  if (base.includes('.') && !trial.isWriting && words.some((word) => baseOf(word) === base)) return true
  const folder = path.slice(0, -base.length - 1)
  const looks = trial.tries.some(({ family, name }) => family === 'list' || name === 'glob')
  if (looks && folder !== '' && words.some((word) => isSameFile(beforeStar(word), folder))) return true
  if (looks && words.some((word) => isFitting(base, baseOf(word)))) return true
  // The same search somewhere else.
  return failed.trial.tries.some(
    (one) =>
      one.family === 'search' &&
      trial.tries.some(
        (other) => other.family === 'search' && looksForSame(one.words[0] ?? '', other.words[0] ?? ''),
      ),
  )
}

/** The same pattern, or one of the words it may be. */
const looksForSame = (pattern: string, other: string): boolean =>
  pattern.length >= FEWEST_LETTERS &&
  (pattern === other ||
    pattern.split('|').some((one) => one.length >= FEWEST_LETTERS && other.split('|').includes(one)))
