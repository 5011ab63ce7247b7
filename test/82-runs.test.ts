// Which commands ran tests and made commits, by what they were called with and what their output shows.
import { describe, expect, it } from 'vitest'
import { signalsOf } from '../src/digest/signals.ts'
import { isTestCommand } from '../src/event/test-command.ts'
import { Script } from './setup/digest-events.ts'

describe('a command', () => {
  it.each([
    'pytest -q',
    'cd app && CI=1 uv run pytest tests/unit',
    'rtk cargo test -p core',
    'mise run test',
    'mise exec -- vitest run',
    'timeout 60 npx playwright test',
    'bash -lc "go test ./..."',
    'cargo test --no-run && cargo test',
    'pytest -c setup.cfg',
    './gradlew check',
    'echo y | npx vitest run',
    "zsh -i -c 'npm test'",
  ])('runs tests: %s', (command) => expect(isTestCommand(command)).toBe(true))

  it.each([
    'cargo check',
    'deno check main.ts',
    'pytest --version',
    'pytest --collect-only tests',
    'npx jest --listTests',
    'cargo test --no-run',
    'go test -c ./pkg',
    'cat test/notes.md',
    'git commit -m tests',
    'rg -n "assert|vitest|jest" src',
  ])('runs none: %s', (command) => expect(isTestCommand(command)).toBe(false))
})

const tests = (script: Script) => script.facts().tests.runs.map(({ command, verdict }) => [command, verdict])
const left = (script: Script) =>
  signalsOf(script.facts())
    .filter((one) => one.signal === 'tests_left_failing')
    .map((one) => one.subject)

describe('tests', () => {
  it('were not run where their runner is not there', () => {
    const script = new Script()
      .run('pytest -q', 127, 'sh: pytest: command not found')
      .run('python -m pytest', 1, '/usr/bin/python: No module named pytest')
    expect([tests(script), left(script)]).toEqual([[], []])
  })

  it('have no verdict where they were stopped', () => {
    const script = new Script()
      .run('cargo test', 124, 'Compiling core')
      .run('cargo test', 1, '1 failed; 3 passed')
    expect(tests(script)).toEqual([
      ['cargo test', 'unknown'],
      ['cargo test', 'failed'],
    ])
  })

  it('show behind another name', () => {
    const script = new Script()
      .run('make ci', 0, 'lint\n===== 12 passed in 3.10s =====')
      .run('just verify', 1, 'Ran 3 tests in 0.2s\n\nFAILED (failures=1)')
      .run('make ci-image', 0, 'built')
      .run('cat ci/log.txt', 0, '===== 12 passed in 3.10s =====')
    expect(tests(script)).toEqual([
      ['make ci', 'passed'],
      ['just verify', 'failed'],
    ])
  })

  it('are mended by a run of more of them, or by other options', () => {
    const failed = (): Script => new Script().run('pytest tests/unit/test_gate.py', 1, '1 failed')
    expect(left(failed())).toEqual(['pytest tests/unit/test_gate.py'])
    expect(left(failed().run('pytest -q tests', 0))).toEqual([])
    expect(left(failed().run('cd . && pytest -x tests/unit/test_gate.py', 0))).toEqual([])
    expect(left(failed().run('pytest tests/unit/test_yard.py', 0))).toEqual([
      'pytest tests/unit/test_gate.py',
    ])
  })

  it('of files that were put aside say nothing of the work', () => {
    const script = new Script().run(
      'git stash && pytest -q | tail -3; git stash pop',
      0,
      '1 failed, 2 passed',
    )
    expect([tests(script).length, left(script), script.facts().tests.lastTold]).toEqual([1, [], null])
  })
})

describe('commits', () => {
  const commits = (script: Script) =>
    script.facts().commits.map(({ sha, subject, seqs }) => [sha, subject, seqs])

  it('are shown by what commits by the way', () => {
    const script = new Script().run(
      'just ship',
      0,
      '[main 1a2b3c4] Mend the gate\n 1 file changed, 1 insertion(+)',
    )
    expect(commits(script)).toEqual([['1a2b3c4', 'Mend the gate', [1, 2]]])
  })

  it('are told without a name, and named by the history', () => {
    const submit = (): Script =>
      new Script().run(
        'acme pr submit',
        1,
        'Committing uncommitted changes...\nPhase 1: Pushing\nError: no network',
      )
    expect(commits(submit())).toEqual([['', '', [1, 2]]])
    const named = submit().run('git log --oneline -5', 0, '1a2b3c4 Mend the gate\n9f8e7d6 Begin')
    expect(commits(named)).toEqual([['1a2b3c4', 'Mend the gate', [1, 2, 4]]])
    expect(commits(submit().run('git log origin/main', 0, '9f8e7d6 Begin'))).toEqual([['', '', [1, 2]]])
  })

  it('are made quietly', () => {
    const script = new Script()
      .run('git commit -qm "Mend the gate"', 0, '')
      .run('git push', 0, 'To host\n   9f8e7d6..1a2b3c4  main -> main')
    expect(commits(script)).toEqual([['1a2b3c4', 'Mend the gate', [1, 2, 4]]])
  })

  it('are not made where there was nothing, or it failed', () => {
    const script = new Script()
      .run('git commit -m x', 1, 'nothing to commit')
      .run('acme pr submit', 1, 'Committing changes\nerror: hook failed')
      .run('git log -1 --oneline', 0, '1a2b3c4 Begin')
    expect(commits(script)).toEqual([])
  })
})
