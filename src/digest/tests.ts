// Verdict of a test run: the exit code, unless the command line hides it behind a pipe; then the runner's own count. A runner that
// was not there, or came to nothing before a test began, ran no tests. And what the runs of each command add up to.
import { isTestCommand, testsIn } from '../event/test-command.ts'
import { entryOf, prune } from './bounded.ts'
import { type DigestEvent, fullText } from './event.ts'
import { addSeq, noSeqs, type Seqs, withSeq } from './seqs.ts'
import type { Step } from './step.ts'

export interface Test {
  seq: number
  resultSeq: number | null
  command: string
  verdict: 'passed' | 'failed' | 'unknown'
  exitCode: number | null
  durationMs: number | null
  isSidechain: boolean
  /** Not of the session's work as it is: that was put aside, or the run was to fail. */
  isElsewhere: boolean
  /** Where the result had no exit code: the call, which may end later, in the background. */
  open: { call: string; hidesExit: boolean } | null
}

/** The runs of one command. */
export interface TestRuns {
  /** When the last of them was noted, with or without a result. */
  order: number
  /** The last verdict there was. */
  last: 'passed' | 'failed' | null
  failures: Seqs
  /** The failures before the last time it passed, and that one; null when it never failed before. */
  fixed: Seqs | null
}

export interface TestState {
  count: number
  /** How often something was noted. */
  order: number
  failureCount: number
  /** The last ones. */
  runs: Test[]
  byCommand: Map<string, TestRuns>
  /** The last one of the conversation itself that had a verdict. */
  lastTold: Test | null
}

export const MAX_TESTS = 100
const MAX_COMMANDS = 100

export const noTests = (): TestState => ({
  count: 0,
  order: 0,
  failureCount: 0,
  runs: [],
  byCommand: new Map(),
  lastTold: null,
})

/** Notes that a test was begun (null), or how it ended. */
export function addTest(tests: TestState, command: string, test: Test | null): void {
  const { byCommand, runs } = tests
  const known = entryOf(byCommand, command, () => ({
    order: 0,
    last: null,
    failures: noSeqs(),
    fixed: null,
  }))
  known.order = ++tests.order
  prune(byCommand, MAX_COMMANDS, (a, b) => b.order - a.order)
  if (test === null) return
  tests.count++
  runs.push(test)
  if (runs.length > MAX_TESTS) runs.shift()
  noteVerdict(tests, test)
}

function noteVerdict(tests: TestState, test: Test): void {
  const { verdict, seq } = test
  if (verdict === 'unknown') return
  if (verdict === 'failed') tests.failureCount++
  if (test.isElsewhere) return
  if (!test.isSidechain) tests.lastTold = test
  const known = tests.byCommand.get(test.command)
  if (known) noteRun(known, verdict, seq)
  if (verdict === 'passed') clear(tests, test)
}

function noteRun(known: TestRuns, verdict: 'passed' | 'failed', seq: number): void {
  known.last = verdict
  if (verdict === 'failed') addSeq(known.failures, seq)
  else if (known.failures.count > 0) known.fixed = withSeq(known.failures, seq)
}

/** A run that passed clears all that failed before and is a part of it: of the same tests by other options, or of some of them. */
function clear({ byCommand }: TestState, { command, seq }: Test): void {
  const words = wordsOf(command)
  for (const [other, known] of byCommand)
    if (known.last === 'failed' && words.length > 0 && isWithin(words, wordsOf(other)))
      noteRun(known, 'passed', seq)
}

const isWithin = (words: readonly string[], others: readonly string[]): boolean =>
  words.every((word) => others.some((other) => other === word || isBelow(other, word)))

/** A file of a directory, a test of a module; Go calls all of a module so. */
const isBelow = (one: string, above: string): boolean =>
  (above === './...' && one.startsWith('./')) ||
  (one.startsWith(above) && /^[:/\\.]/.test(one.slice(above.replace(/\/$/, '').length)))

/** Runner and what it was to run, without options and where its output went. */
const wordsOf = (command: string): string[] =>
  (testsIn(command)[0] ?? command)
    .split(/[|>]/, 1)
    .join('')
    .split(/\s+/)
    // Behind the last of them a shell's text may end.
    .map((word) => word.replace(/["']$/, ''))
    .filter((word) => word !== '' && !/^-|^\w+=|^\d?>|^2$/.test(word))

/** A run that went on in the background after its first result: what comes later tells how it ended. */
export function endTest(tests: TestState, event: DigestEvent): void {
  if (event.call === null || event.exitCode === null) return
  const test = tests.runs.findLast((one) => one.open?.call === event.call)
  if (!test?.open || test.verdict === 'failed') return
  const verdict =
    verdictOf({ hasFailed: event.kind === 'error', hidesExit: test.open.hidesExit }, event) ?? 'unknown'
  test.resultSeq = event.seq
  test.exitCode = event.exitCode
  test.durationMs = event.durationMs ?? test.durationMs
  test.open = null
  if (tests.lastTold?.seq === test.seq) tests.lastTold = test
  if (verdict === 'unknown' || verdict === test.verdict) return
  test.verdict = verdict
  noteVerdict(tests, test)
}

const COUNTED_FAILURES = new RegExp(
  [
    /(?<![\d./])[1-9]\d* (?:tests? )?(?:fail(?:ed|ing|ures?)?|errors?)\b/,
    // Maven, PHPUnit, .NET, and what Node prints.
    /\b(?:[Ff]ail(?:ures?|ed)?|[Ee]rrors?): *[1-9]|^[#ℹ] fail [1-9]/,
    /\btest result: FAILED\b|^(?:FAIL|not ok)\b|\bFAILED \(|^FAILURES!|\[ +FAILED +\]|\bBUILD FAIL|^Result: FAIL/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'm',
)
const COUNTED_PASSES = new RegExp(
  [
    /\b[1-9]\d* (?:pass(?:ed|ing)?|tests? pass(?:ed)?|ok)\b|\b[1-9]\d* \w+, (?:\d+ \w+, )?0 failures\b/,
    /\bTests run: [1-9]|^[#ℹ] pass [1-9]|\b100% tests passed\b|\bPassed: +[1-9]|\bAll tests (?:passed|successful)/,
    /\btest result: ok\b|^(?:PASS|ok|OK)\b|\[ +PASSED +\]|\bBUILD SUCCESS|^Result: PASS/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'm',
)

/** The line of a runner that counts failures. */
export const failureCountIn = (output: string): string | undefined =>
  COUNTED_FAILURES.test(output) ? output.split('\n').find((line) => COUNTED_FAILURES.test(line)) : undefined

/** The first line of a command may be another program than the tests, or end within the name of one. */
export const testNameOf = ({ subject, asked }: Pick<Step, 'subject' | 'asked'>): string =>
  isTestCommand(subject) && !subject.endsWith('…')
    ? subject
    : (testsIn(asked)[0]
        ?.slice(0, NAME_LENGTH)
        .replace(/^([^"']*)["']$/, '$1') ?? subject)

const NAME_LENGTH = 400

/** Null where no test was run. */
export function testVerdict(step: Step, result: DigestEvent): Test | null {
  const verdict = verdictOf(step, result)
  if (verdict === null) return null
  return {
    seq: step.seq,
    resultSeq: result.seq,
    command: testNameOf(step),
    verdict,
    exitCode: result.exitCode,
    durationMs: result.durationMs,
    isSidechain: step.isSidechain,
    isElsewhere: step.isMeantToFail,
    open:
      result.exitCode === null && step.call !== null && !step.hasFailed
        ? { call: step.call, hidesExit: step.hidesExit }
        : null,
  }
}

/** Nothing was there to run the tests, or the network or the sandbox did not let it get so far. */
const NOT_RUN =
  /command not found|: not found$|is not recognized as|No module named ['"]?(?:pytest|nose|tox|nox)\b|no such (?:sub)?command|missing script|executable file not found|unknown command|could not find `?Cargo\.toml|no rule to make target|could not resolve host|failed to (?:download|fetch)\b|error: no matching package|\+ CategoryInfo {1,20}: ParserError\b/im
const STOPPED = new Set([124, 137, 143])
const LOOKED_AT = 6000

function verdictOf(step: Pick<Step, 'hasFailed' | 'hidesExit'>, result: DigestEvent): Test['verdict'] | null {
  const { exitCode } = result
  const hasFailed = step.hasFailed === true || (exitCode !== null && exitCode !== 0)
  if (!hasFailed && exitCode === 0 && !step.hidesExit) return 'passed'
  const output = fullText(result)
  if (COUNTED_FAILURES.test(output)) return 'failed'
  if (COUNTED_PASSES.test(output)) return hasFailed && !step.hidesExit ? 'failed' : 'passed'
  if (exitCode === 126 || exitCode === 127 || NOT_RUN.test(ends(output))) return null
  if (!hasFailed) return 'unknown'
  if (exitCode === null) return ASSERTED.test(output) ? 'failed' : 'unknown'
  return STOPPED.has(exitCode) ? 'unknown' : 'failed'
}

/** One test said what it wanted, where nothing counts them and no code tells. */
const ASSERTED = /^\s{0,12}(?:\S{1,100}\.)?Assertion(?:Failed)?Error\b|\bpanicked at\b|^--- FAIL: /m

const ends = (text: string): string =>
  text.length <= 2 * LOOKED_AT ? text : `${text.slice(0, LOOKED_AT)}\n${text.slice(-LOOKED_AT)}`

/** Whatever was called: the end of it shows how many tests were run. */
const SUMMARY = new RegExp(
  [
    /^={0,100} ?(?:\d{1,7} failed, )?\d{1,7} passed(?:, \d{1,7} \w{1,20}){0,6} in [\d.]{1,12}s/,
    /^[ \t]{0,20}Tests:? {1,9}(?:\d{1,7} failed[,|\t ]{1,9})?\d{1,7} passed|^[ \t]{0,20}Test Files {1,9}\d|^test result: (?:ok|FAILED)\. \d{1,7} passed/,
    /^Ran \d{1,7} tests? in |^[#ℹ] tests \d{1,7}$|^[ \t]{0,20}\d{1,7} passing\b|^\d{1,7} examples?, \d{1,7} failures?|^ok[ \t]{1,9}\S{1,300}[ \t]{1,9}[\d.]{1,12}s|^--- FAIL: /,
  ]
    .map(({ source }) => source)
    .join('|'),
  'm',
)
const WRAPS =
  /\b(?:make|just|mise|task|npm|pnpm|yarn|bun|uv|poetry|hatch|pdm|rtk|nox|inv|invoke|rake|docker|podman|bash|sh)\b|(?:^|[\s;&])\.{1,2}\/[\w./-]{1,200}/
const NAMES_CHECKS =
  /(?:^|[\s/:_-])(?:ci|checks?|verify|specs?|e2e|unit|integration|cov(?:erage)?|validate|all|qa|tests?|smoke)\b/i

/** A command that runs others: by its output one sees whether tests were among them. */
export const mayTest = (command: string): boolean => WRAPS.test(command) && NAMES_CHECKS.test(command)

export const showsTests = (result: DigestEvent): boolean => SUMMARY.test(ends(fullText(result)))

const IS_TEST = /test|spec|check|cargo|mocha|jest|tox|make|mvn|gradle|prove/i

/** One that nothing closes goes to the end, and stays: looked for from each quote in it, its end would be sought without end. */
const QUOTED = /'[^']*'|"(?:[^"\\]|\\.)*("?)/g

/** Whether the exit code of a call is that of another program than the tests: of one behind a pipe, or after them. */
export function hidesExit(command: string): boolean {
  // What stands in quotes is an argument, unless a shell is to run it.
  const isShellText = /\b(?:ba|z|da|k|fi)?sh (?:-\S{1,20} ){0,4}-\w*c\b/.test(command)
  const bare = isShellText
    ? command
    : command.replace(QUOTED, (all, end?: string) => (end === '' ? all : '""'))
  if (bare.includes('|') && !/\bpipefail\b/.test(bare)) return true
  const last = bare.replace(/\\\n/g, ' ').trim().split(/[;\n]/).at(-1) ?? ''
  return last !== bare.trim() && !IS_TEST.test(last) && !/\bset -\w*e/.test(bare)
}
