// Whether tests passed: by the exit code where it is theirs, else by what the runner counted, and unknown otherwise.
import { describe, expect, it } from 'vitest'
import { Script } from './setup/digest-events.ts'

const verdictOf = (command: string, output: string, exitCode = 0): string | undefined =>
  new Script()
    .prompt('test it')
    .run(command.split('\n')[0] as string, exitCode, output, {
      kind: 'test_run',
      body: { command, said: output },
    })
    .facts().tests.runs[0]?.verdict

describe('behind a pipe the runner has the word', () => {
  it.each([
    ['npx jest', 'Tests: 1 failed, 3 passed', 'Tests: 3 passed'],
    ['npx vitest run', 'Tests  1 failed | 2 passed (3)', 'Tests  3 passed (3)'],
    ['pytest', '1 failed, 3 passed in 0.1s', '3 passed, 2 xfailed in 0.1s'],
    ['pytest', '=== 1 error in 0.05s ===', '10 passed, 1 warning'],
    ['python -m unittest', 'Ran 3 tests\n\nFAILED (failures=1)', 'Ran 3 tests in 0.001s\n\nOK'],
    ['go test ./...', '--- FAIL: TestX\nFAIL\tpkg\t0.01s', 'ok  \tpkg\t0.01s'],
    ['cargo test', 'test result: FAILED. 1 passed; 1 failed', 'test result: ok. 3 passed; 0 failed'],
    ['mvn test', 'Tests run: 3, Failures: 1, Errors: 0', 'Tests run: 3, Failures: 0, Errors: 0'],
    ['gradle test', '3 tests completed, 1 failed', 'BUILD SUCCESSFUL in 2s'],
    ['phpunit', 'FAILURES!\nTests: 3, Assertions: 4, Failures: 1.', 'OK (3 tests, 4 assertions)'],
    ['rspec', '3 examples, 1 failure', '3 examples, 0 failures'],
    [
      'rails test',
      '3 runs, 4 assertions, 1 failures, 0 errors',
      '3 runs, 4 assertions, 0 failures, 0 errors',
    ],
    ['node --test', 'ℹ tests 3\nℹ pass 2\nℹ fail 1', 'ℹ tests 3\nℹ pass 3\nℹ fail 0'],
    ['node --test', '# tests 3\n# pass 2\n# fail 1', '# tests 3\n# pass 3\n# fail 0'],
    ['bun test', ' 2 pass\n 1 fail\nRan 3 tests', ' 3 pass\n 0 fail\nRan 3 tests'],
    ['deno test', 'FAILED | 2 passed | 1 failed (10ms)', 'ok | 3 passed | 0 failed (10ms)'],
    ['npx mocha', '  3 passing\n  1 failing', '  3 passing (5ms)'],
    ['npx ava', '1 test failed', '3 tests passed'],
    ['ctest', '67% tests passed, 1 tests failed out of 3', '100% tests passed, 0 tests failed out of 3'],
    ['make test', '[  FAILED  ] 1 test, listed below:', '[  PASSED  ] 3 tests.'],
    ['dotnet test', 'Failed!  - Failed:     1, Passed:     2', 'Passed!  - Failed:     0, Passed:     3'],
    ['prove -r t', 'Result: FAIL', 'All tests successful.\nResult: PASS'],
  ])('%s', (command, failed, passed) => {
    expect(verdictOf(`${command} 2>&1 | tail -5`, failed)).toBe('failed')
    expect(verdictOf(`${command} 2>&1 | tail -5`, passed)).toBe('passed')
    expect(verdictOf(`${command} 2>&1 | tail -5`, 'done')).toBe('unknown')
    expect(verdictOf(command, 'done')).toBe('passed')
    expect(verdictOf(command, passed, 1)).toBe('failed')
  })
})

it('a line that a shell does not understand runs no tests', () => {
  const said =
    "At line:1 char:8\n+ cd app && npm test\n+        ~~\nThe token '&&' is not a valid statement separator.\n    + CategoryInfo          : ParserError: (:) [], ParentContainsErrorRecordException"
  expect(verdictOf('cd app && npm test', said, 1)).toBeUndefined()
})

describe('a run that goes on in the background', () => {
  const begun = (command: string, output: string) =>
    new Script()
      .prompt('test it')
      .add({
        kind: 'test_run',
        role: 'assistant',
        tool: 'exec_command',
        call: 'c',
        does: 'shell',
        summary: command,
      })
      .add({ kind: 'tool_result', role: 'tool', tool: 'exec_command', call: 'c', body: { said: output } })
      .run('sleep 1', 0)
  const ended = (command: string, exitCode: number, output = '') =>
    begun(command, 'running').add({
      kind: exitCode === 0 ? 'tool_result' : 'error',
      role: 'tool',
      call: 'c',
      exitCode,
      body: { said: output },
    })

  it('has no verdict until a second result tells how it ended', () => {
    expect(begun('npm test', 'running').facts().tests.runs[0]?.verdict).toBe('unknown')
    const { tests } = ended('npm test', 1).facts()
    expect(tests).toMatchObject({ count: 1, failureCount: 1, lastTold: { verdict: 'failed', exitCode: 1 } })
    expect(tests.runs[0]).toMatchObject({ seq: 2, resultSeq: 6, verdict: 'failed' })
    expect(ended('npm test', 0).facts().tests.lastTold).toMatchObject({ verdict: 'passed', exitCode: 0 })
    expect(ended('npm test | tail', 0).facts().tests.runs[0]?.verdict).toBe('unknown')
    expect(ended('npm test | tail', 0, '3 passed').facts().tests.runs[0]?.verdict).toBe('passed')
  })

  it('that printed passes before it failed has failed', () => {
    const script = begun('npm test', '3 passed').add({ kind: 'error', call: 'c', exitCode: 2 })
    expect(script.facts().tests).toMatchObject({ failureCount: 1, lastTold: { verdict: 'failed' } })
  })
})

describe('an exit code', () => {
  it.each([
    'npm test | cat',
    'npm test || true',
    'npm test; echo done',
    'npm test\necho done',
    'sh -c "npm test | tail"',
    'bash -lc "npm test | tail"',
    'wsl.exe -- zsh -i -c "npm test | tail"',
    `cd ${'long/'.repeat(60)} && npm test\nls`,
  ])('is not that of the tests in %s', (command) => {
    expect(verdictOf(command, 'done')).toBe('unknown')
  })

  it.each([
    'npm test',
    'CI=true npm test',
    'cd app; npm test',
    'cd app\nnpm test',
    'npm test -- \\\n  --run',
    'pytest -k "one|two; three"',
    'set -o pipefail; npm test | tail',
    'set -e\nnpm test\necho done',
    'npm test && echo done',
  ])('is that of the tests in %s', (command) => {
    expect(verdictOf(command, 'done')).toBe('passed')
  })
})
