// Whether a command line runs tests, by what it names. Readers of sessions and the digest judge by the same words.

const VALUES = String.raw`(?:\w{1,60}=\S{0,200}\s+){0,10}`
/** What may stand before a runner. */
const BEFORE = [
  'then',
  'do',
  'time',
  'exec',
  'env',
  'sudo',
  'command',
  'nohup',
  'rtk',
  'npx',
  'bunx',
  'uvx',
  '(?:pnpm|yarn)(?: exec| dlx)?',
  '(?:poetry|uv|hatch|pdm|rye|pipenv|doppler|op) run',
  String.raw`(?:uv|poetry) run (?:-\S{1,60} ){1,6}(?:\S{1,60} )?`,
  String.raw`mise (?:exec|x)(?: \S{1,60}){0,3} --`,
  String.raw`python[\d.]{0,5} -m`,
  'bundle exec',
  'xvfb-run',
  String.raw`timeout(?: -\S{1,20}){0,3} \S{1,20}`,
  String.raw`nice(?: -n ?-?\d{1,2})?`,
  'cross-env',
]
// What stands in a pattern between two bars is no program.
const WORD = String.raw`(?:^|[;&(]\s*|\|\s+|sh (?:-\w{1,5} ){1,3}["']\s*|\b(?:${BEFORE.join('|')})\s+)${VALUES}`
const RUNNERS = [
  String.raw`(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?(?:-\S{1,60}\s+){0,6}(?:t|test|tests)(?::\S{1,60})?`,
  String.raw`(?:vitest|jest|mocha|ava|tap|c8|nyc|karma|cypress|playwright test|pytest|py\.test|nosetests|tox|nox|unittest|rspec|minitest|phpunit|pest|ctest|bats|busted|prove|gotestsum|nextest)`,
  String.raw`node\s+(?:\S{1,200}\s+){0,20}--test`,
  String.raw`node\s+\S{0,200}\btests?\b\S{0,200}\.[cm]?[jt]s`,
  String.raw`(?:deno|cargo|go|dotnet|mix|swift|zig build|flutter|dart|stack|cabal|sbt|lein|bazel|buck2?|rake|rails|gradle|\./gradlew|mvn|\./mvnw|make|just|mise run|mise|task|meson|composer|php artisan|elm|gleam|moon|nx|turbo|tox|hatch)\s+(?:[^;&|]{0,400}?\s)?(?:tests?|nextest)(?=[\s:;&|)]|$)`,
  // Of these, the word means all that is checked, tests included.
  String.raw`(?:gradle|\./gradlew|mvn|\./mvnw|make|meson)\s+(?:[^;&|]{0,400}?\s)?(?:check|verify)(?=[\s:;&|)]|$)`,
]
const TEST_COMMAND = new RegExp(`${WORD}(?:\\S{0,255}/)?(?:${RUNNERS.join('|')})(?=[\\s;&|):"']|$)`)
/** A runner that is asked what there is, or only builds. */
const RUNS_NOTHING =
  /\s(?:--version|--help|-h|--collect-only|--co|--list|--listTests|--list-tests|--no-run|--dry-run|--fixtures|--markers|--showConfig|-c)(?=\s|=|$)/

/** Without one of these letters no runner is named; most commands have none. */
const MAY_NAME =
  /test|jest|spec|unit|mocha|ava|tap|c8|nyc|karma|cypress|[tn]ox|pest|prove|bats|busted|check|verify|\st(?:[\s:;&|)]|$)/

const MAX_COMMAND = 4000

/** Judged by the command, never by its output. */
export const isTestCommand = (command: string): boolean => testsIn(command).length > 0

/** The parts of a command line that run tests. */
export const testsIn = (command: string): string[] =>
  !MAY_NAME.test(command)
    ? []
    : partsOf(command.slice(0, MAX_COMMAND)).filter((part) => TEST_COMMAND.test(part) && !isListing(part))

const partsOf = (text: string): string[] =>
  text
    .split(/&&|\|\||[;\n]/)
    .map((part) => part.trim())
    .filter((part) => part !== '')

/** `pytest -c file` names its settings; `go test -c` only builds. */
function isListing(part: string): boolean {
  const found = RUNS_NOTHING.exec(part)
  return found !== null && (found[0].trim() !== '-c' || /\bgo\s+test\b/.test(part))
}
