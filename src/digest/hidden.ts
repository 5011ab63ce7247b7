// Failures that an exit code of 0 hides: what a program says of itself in JSON, what a runner or a compiler reports before a
// pipe or `|| true`, and what a sub-agent reports of the checks it was to run.
import { type Part, partsOf } from './command.ts'
import { isProbing, lookingOf } from './reading.ts'

const MAX_JSON = 200_000

/** What failed, as a program says in JSON; undefined where it says nothing of the kind. */
export function messageOfJson(text: string): string | undefined {
  const value = parsed(text)
  if (value === undefined) return undefined
  const { error, message } = value
  const inner = typeof error === 'object' && error !== null ? (error as Record<string, unknown>) : {}
  for (const one of [message, inner['message'], error, value['detail'], value['reason']])
    if (typeof one === 'string' && one.trim() !== '') return one.split('\n')[0]?.trim()
  return undefined
}

/** The same of one that says so and ended well. */
export function failureInJson(text: string): string | undefined {
  const value = parsed(text)
  return value && (value['success'] === false || value['ok'] === false) ? messageOfJson(text) : undefined
}

/** The whole of a text, or its first line. */
function parsed(text: string): Record<string, unknown> | undefined {
  if (!/^\s*\{/.test(text) || text.length > MAX_JSON) return undefined
  for (const candidate of [text, text.trimStart().split('\n')[0] as string]) {
    try {
      const value: unknown = JSON.parse(candidate)
      if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
    } catch {
      // The next one may be whole.
    }
  }
  return undefined
}

const CHECKS =
  /^(?:pytest|py\.test|tox|nox|jest|vitest|mocha|playwright|tsc|tsgo|eslint|biome|ruff|mypy|ty|pyright|flake8|black|prettier|cargo|rustc|go|make|just|task|npm|pnpm|yarn|bun|node|deno|python[\d.]*|gradlew?|mvn|dotnet|swift|xcodebuild|cmake|ctest|ninja|rake|rspec|phpunit|bazel|javac|gcc|g\+\+|clang|markdownlint\S*|pre-commit)$/
const CHECKING = /^(?:test|check|lint|build|verify|validate|typecheck|type-check|ci)\b/

/** A program that was called wrongly says so, and how it is called. */
export function wrongCallIn(text: string): string | undefined {
  if (!/^usage: \S/im.test(text)) return undefined
  return text
    .slice(0, 8000)
    .split('\n')
    .find((line) => /^(?:\S{1,60}: )?error: \S/i.test(line))
}

const SHELL_SAYS =
  /^(?:\S{0,200}\/)?(?:(?:(?:ba|z|da|k)?sh): (?:line )?(?:\d{1,6}: )?[\w.+-]{1,60}: (?:command )?not found|zsh:\d{1,6}: (?:command not found: \S{1,60}|no such file or directory: \S{1,200})|python[\d.]{0,9}: (?:No module named|can't open file|Error while finding module) .{1,200})$/m

/** A shell or an interpreter that does not find what it was to run. */
export const saidByShell = (text: string): string | undefined =>
  /not found|no such file|No module|can't open|finding module/.test(text)
    ? SHELL_SAYS.exec(text.slice(-20_000))?.[0]
    : undefined

/** Whether a program checks or builds something. */
export const checks = (part: Part): boolean =>
  CHECKS.test(part.program) || (lookingOf(part) === null && part.args.some((one) => CHECKING.test(one)))

/** Whether the exit code may be another one than that of what matters: without taking it apart, as most are none. */
export const mayHide = (command: string): boolean =>
  /[|;\n]/.test(command) &&
  !/^(?:cd [^&;|]+(?:&&|;) *)?(?:rg|grep|sed|cat|ls|find|head|tail|nl|git (?:diff|log|show|status))\b[^&;]*$/.test(
    command,
  )

/** Whether a command runs a check or a build. */
export const isChecking = (command: string): boolean => partsOf(command).some(checks)

// Lines that only a compiler, a linter or a runner writes, and only when something failed.
const REPORTED = [
  /^error(?:\[E\d+\])?: \S/,
  /\berror (?:TS|CS|FS|BC|MD)\d+\b/,
  /^\S+:\d+(?::\d+)?: (?:fatal )?error: /,
  /^(?:npm|pnpm) (?:error|ERR!) \S/,
  /^--- FAIL: \S|^\s*\[FAIL\] \S|^FAILED \S+::|^\[ERROR\] |^BUILD FAILED|^FAILURE: /,
  /^(?:\S+: )?(?:line \d+: )?[\w.+-]+: command not found$/,
  /^(?:[\w$]+\.)*[A-Z]\w*(?:Error|Exception): \S/,
  /^Type error: \S|^\s{1,4}\d+:\d+\s+error\s+\S|^\* What went wrong:/,
  /^Found [1-9]\d* errors?\b(?!.*\b0 remaining)|^✖ [1-9]\d* problems? \([1-9]|\b[1-9]\d* (?:checks?|tests?) failed\b/,
  /^\[warn\] Code style issues|^would reformat \S|^\*\* \w+ FAILED \*\*$|^make(?:\[\d+\])?: \*\*\* /,
]
const THROWN = REPORTED[6]
const OF_GO = /^(?:vet(?:\.exe)?: )?[^\s:]{1,300}\.go:\d+:\d+: \S/

/** What the output of a check says that its exit code does not. */
export function reportedIn(text: string): string | undefined {
  const tail = text.length > 40_000 ? `${text.slice(0, 20_000)}\n${text.slice(-20_000)}` : text
  const lines = tail.split('\n')
  for (const pattern of REPORTED) {
    const line = lines.find((one) => pattern.test(one))
    // An exception may be printed and caught; one that ended the program comes with where it was.
    if (line === undefined || (pattern === THROWN && !/^Traceback |^ {2,8}at \S/m.test(tail))) continue
    return line.trim()
  }
  // Go names a package only where something is wrong in it.
  const isOfGo = (line: string, at: number): boolean =>
    OF_GO.test(line) && [1, 2].some((back) => lines[at - back]?.startsWith('# '))
  return lines.find(isOfGo)?.trim()
}

const DOCKER = /^ERROR: failed to \w|^docker: Error response from daemon: /
const PIP = /^ERROR: (?:No matching distribution|Could not|Cannot|Failed|Invalid)\b/
/** What programs that check nothing write only where they could not do what they were told. */
const FAILS: Record<string, RegExp> = {
  git: /^(?:fatal|error): \S|^CONFLICT \(/,
  pip: PIP,
  pip3: PIP,
  docker: DOCKER,
  podman: DOCKER,
  curl: /^curl: \(\d+\) \S/,
  apt: /^E: \S/,
  'apt-get': /^E: \S/,
  terraform: /^\W{0,4}Error: \S/,
}

/** Waiting for something to be there is to ask again and again. */
const WAITS = /\b(?:until|while|for)\b/

/** A program says that it could not, of those that did more than look. */
export function saidByProgram(command: string, text: string): string | undefined {
  if (WAITS.test(command)) return undefined
  const patterns = partsOf(command).flatMap((part) =>
    lookingOf(part) === null && Object.hasOwn(FAILS, part.program) ? [FAILS[part.program] as RegExp] : [],
  )
  if (patterns.length === 0) return undefined
  return text.split('\n').find((line) => patterns.some((pattern) => pattern.test(line)))
}

/** One that only asks whether something is there is told that it is not. */
export const isOfPowerShell = (command: string): boolean =>
  /\b[A-Z][a-z]+-[A-Z]\w|^\$\w/.test(command) && !isProbing(command)

const PLACE = /^At line:\d+ char:\d+\s*$/
const CMDLET = /^[\w.-]{1,100} : \S/
const MESSAGE_LINES = 6

/** PowerShell goes on behind an error and ends well. What it says then quotes the command, and not what that printed. */
export function saidByPowerShell(command: string, output: string): string | undefined {
  if (!output.includes('At line:')) return undefined
  const lines = output.split('\n')
  const at = lines.findIndex((line, at) => PLACE.test(line) && command.includes(quotedIn(lines[at + 1])))
  const before = lines.slice(Math.max(0, at - MESSAGE_LINES), Math.max(0, at))
  const from = before.findLastIndex((line) => CMDLET.test(line))
  return from === -1 ? undefined : before.slice(from).join('\n')
}

const quotedIn = (line = ''): string =>
  line
    .slice(line.startsWith('+ ... ') ? 6 : 2)
    .trimEnd()
    .replace(/ \.\.\.$/, '')

const ASKED_TO_CHECK = /\b(?:run|re-?run|check|test|lint|verify|validate|ci|build|pytest)\b/i

/** Whether a sub-agent was to run checks, by what it was asked for in short. */
export const isToCheck = (asked: string): boolean => ASKED_TO_CHECK.test(asked.split('\n', 1)[0] as string)

const VERDICT = [
  /\b(?:status|results?|verdict|overall)\b[^.\n|]{0,40}\bfail(?:ed|ure|ures)?\b/i,
  /\b(?:check|command|pipeline|target|run|suite|build|tests?|pytest|ruff|mypy|ty|make|prettier|eslint|tsc|cargo|go|npm|lint|ci)`?:? failed\b/i,
  /\bfailed(?: with|:| \()[^\n]{0,20}?(?:exit code:? [1-9]|[1-9]\d* (?:issues?|errors?|failures?|tests?|collection))/i,
  /\bcompleted with failures\b|\bcollection (?:failed|errors)\b/i,
  /^[^.\n]{1,60}?(?::|-|–|—|\|) *(?:PARTIAL(?:LY)? )?(?:FAIL(?:ED|URE)?|[Ff]ailed)\b/,
  /(?<![\d./])[1-9]\d* (?:tests? )?(?:failed|failures?|errors? \(exit code [1-9])\b/i,
]
// What a single failed check of many says, or the failure itself.
const DETAIL = [
  /\b[A-Z]\w{0,60}(?:Error|Exception): \S/,
  /\b(?:[A-Z]{1,4}\d{3,4})\b.*\w{4}|\berror (?:TS|CS)\d+/,
  /\bassert(?:ion)? .{1,100}?(?:==|!=| in )/i,
  /\b(?:style issues?|would be reformatted|out of date|needs? (?:re)?formatting|unused import|not formatted)\b/i,
  /\bFAILED\b|\b(?:Check|Tests?|Lint\w{0,8}|Format\w{0,8})\b[^|\n]{0,80}\b[Ff]ailed\b/,
]
const isPassed = (line: string): boolean =>
  /\b(?:pass(?:ed|ing)?|no (?:failures?|errors?|issues?))\b/i.test(line) && !/\bfail(?:ed|ing)\b/i.test(line)

/** What a sub-agent hands in where its provider let it do nothing. */
export const providerError = (report: string): string | undefined =>
  /^API Error: [45]\d\d\b[^\n]*/.exec(report)?.[0]

/** The verdict of a report on checks that did not all pass, with the first thing that it names; undefined for all others. */
export function failureInReport(report: string): string | undefined {
  const lines = report
    .slice(0, 20_000)
    .split('\n')
    .map((line) => ({ line: line.trim(), bare: line.replace(/[*#`_]|^\s*(?:[-•]|\d+\.)\s*/g, '').trim() }))
    .filter(({ bare }) => bare !== '')
  const verdict = lines.find(
    ({ bare }) =>
      !isPassed(bare) &&
      !/\b(?:0 failed|failed: 0|failures?: 0|no failures?)\b/i.test(bare) &&
      VERDICT.some((pattern) => pattern.test(bare)),
  )
  if (!verdict) return undefined
  for (const pattern of DETAIL) {
    const detail = lines.find(
      ({ line, bare }) => line !== verdict.line && !isPassed(bare) && pattern.test(bare),
    )
    if (detail) return `${withoutColon(verdict.line)}: ${detail.line}`
  }
  return verdict.line
}

const withoutColon = (line: string): string => line.replace(/[:.]{1,3}$/, '')
