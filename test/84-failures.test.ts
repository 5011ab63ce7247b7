// What is a failure and what is none, what an exit code of 0 hides, and which line tells it. Sessions of our own making.
import { describe, expect, it } from 'vitest'
import { isMereNo } from '../src/digest/errors.ts'
import { type Made, Script } from './setup/digest-events.ts'

const samples = (script: Script): string[] => {
  // Gone through at once, and in steps.
  expect(script.stepwise()).toEqual(script.facts())
  return [...script.facts().failures.values()].map((one) => one.sample)
}
const ran = (command: string, code: number, output = ''): string[] =>
  samples(new Script().prompt('go').run(command, code, output))
const asked = (inShort: string, prompt: string, report: string): string[] => {
  const call: Made = { kind: 'tool_call', role: 'assistant', tool: 'Task', call: 'c', does: 'spawn' }
  return samples(
    new Script()
      .prompt('go')
      .add({ ...call, summary: `Task: ${inShort}`, body: { input: { prompt } } })
      .result('c', 'Task', 0, report),
  )
}

describe('no failure is', () => {
  it.each([
    ['rg -n "left|right" src', 1, ''],
    ['grep -rn "a\\|b" src/ 2>/dev/null', 2, ''],
    ['git diff --quiet', 1, ''],
    ['go vet ./... 2>&1 | grep -v "known" && echo OK', 1, ''],
    // A shell stopped reading: what was found is shown.
    [
      'rg -n "token" src | Select-Object -First 2',
      1,
      'src/a.py:3: raise ValueError("bad token")\nsrc/b.ts:9:throw new Error("x")',
    ],
    ['which black', 1, 'which: no black in (/usr/bin)'],
    ['command -v just', 1, ''],
    ['gh pr checks 12', 8, 'build\tpending\t0'],
    ['Get-Command yq', 1, "Get-Command : The term 'yq' is not recognized as the name of a cmdlet"],
    ['test -f .env && echo there', 1, ''],
    ['npm start', 130, '^C'],
    ['rg --files -g "*.yaml"', 1, '/opt/brew/shellenv.sh: line 18: /bin/ps: Operation not permitted\n'],
  ])('%j that ends with %i', (command, code, output) => {
    expect(ran(command, code, output)).toEqual([])
    expect(isMereNo({ text: output, command, exitCode: code })).toBe(true)
  })

  it('what was refused, or ended because its neighbour failed', () => {
    const ended = (state: 'refused' | 'stopped'): Script =>
      new Script()
        .add({
          kind: 'tool_call',
          role: 'assistant',
          tool: 'Bash',
          call: 'c',
          does: 'shell',
          summary: 'Bash: rm x',
        })
        .add({
          kind: 'error',
          role: 'tool',
          tool: 'Bash',
          call: 'c',
          state,
          summary: 'no',
          body: { said: 'no' },
        })
    expect(samples(ended('refused'))).toEqual([])
    expect(samples(ended('stopped'))).toEqual([])
  })

  it.each([
    ['Confirm new test fails without the fix', 'Done.'],
    ['Run the tests', 'The test must fail before the fix is there.'],
    ['', 'Break the guard to prove it fails, then restore.'],
  ])('a test that is run to see it fail: %j after %j', (description, said) => {
    const script = new Script().prompt('go').answer(said)
    const made = {
      kind: 'test_run',
      body: { input: { description }, said: 'E   AssertionError: 1' },
    } as const
    const facts = script.run('pytest tests/test_a.py', 1, 'E   AssertionError: 1', made).facts()
    expect([facts.failures.size, facts.tests.count, facts.tests.lastTold]).toEqual([0, 1, null])
  })

  it('a test of what was there before: the work was put aside', () => {
    const script = new Script().prompt('go')
    script.test('git stash && pytest tests/test_a.py; git stash pop', 1, 'E   AssertionError: 1')
    expect(script.facts().failures.size).toBe(0)
  })

  it('a test of what was broken for it, and put back behind it', () => {
    const script = new Script().prompt('go')
    script.test(
      'cp a.go /tmp/a.bak; sed -i s/1/2/ a.go; go test ./a; cp /tmp/a.bak a.go',
      1,
      '--- FAIL: TestA',
    )
    expect(script.facts().failures.size).toBe(0)
    script.test('cp a.go b.go; go test ./a', 1, '--- FAIL: TestA')
    expect(script.facts().failures.size).toBe(1)
  })

  it('but a test that one only looks at, or that fails against what was said', () => {
    for (const said of [
      'Let me see why the test fails.',
      'Make sure nothing fails.',
      'Verify the new `FailSafe`',
    ])
      expect(
        new Script().prompt('go').answer(said).test('pytest', 1, 'E   AssertionError: 1').facts().failures
          .size,
      ).toBe(1)
  })

  it('the same end told twice: by who waited for it, and by the command itself', () => {
    const script = new Script()
      .add({
        kind: 'tool_call',
        role: 'assistant',
        tool: 'poll',
        call: 'p',
        does: 'shell',
        summary: 'poll: {}',
      })
      .result('p', 'poll', 1, 'Timeout waiting for: build')
      .result('gone', 'run', 1, 'Timeout waiting for: build')
    expect(samples(script)).toEqual(['Timeout waiting for: build'])
    expect([...script.facts().failures.values()].map((one) => one.seqs.count)).toEqual([1])
  })
})

describe('a failure is', () => {
  it.each([
    [
      'rg -n x extension src',
      2,
      'src/a.ts:1:x\nrg: extension: No such file or directory (os error 2)',
      'rg: extension: No such file or directory (os error 2)',
    ],
    ['git fetch', 124, '', 'git fetch timed out, exit code 124'],
    // What a service answers is its own.
    [
      'gh pr diff 12 -- docs/a.md',
      1,
      'accepts at most 1 arg(s), received 2',
      'gh pr failed, exit code 1: accepts at most 1 arg(s), received 2',
    ],
    [
      'gh issue list --repo a/b',
      1,
      "GraphQL: Could not resolve to a Repository with the name 'a/b'.",
      "GraphQL: Could not resolve to a Repository with the name 'a/b'.",
    ],
    ['cargo build', 101, 'command timed out', 'command timed out: cargo build'],
    [
      'npx lint "**/*.md" | tail -3',
      1,
      'Linting: 9 files\ndocs/a.md:9:61 error MD047 No newline at the end',
      'docs/a.md:9:61 error MD047 No newline at the end',
    ],
    ['npx lint .', 1, 'total: 1589', 'lint failed, exit code 1: total: 1589'],
    [
      'cd app && cargo fmt',
      1,
      "At line:1 char:8\n+ cd app && cargo fmt\n+        ~~\nThe token '&&' is not a valid statement separator in this version.",
      "The token '&&' is not a valid statement separator in this version.",
    ],
    [
      'nl -ba a.md',
      1,
      "nl : The term 'nl' is not recognized as the name of a cmdlet. Check the \nspelling of the name.\nAt line:1 char:1\n+ nl -ba a.md",
      "nl : The term 'nl' is not recognized as the name of a cmdlet. Check the spelling of the name.",
    ],
    [
      'prettier --check .',
      1,
      'Checking formatting...\n[warn] a.md\n[warn] Code style issues found in the above file.',
      '[warn] Code style issues found in the above file.',
    ],
    // Headings of compilers and frames of bundlers stand before what went wrong; wrappers behind it.
    [
      'go build ./...',
      1,
      '# example.com/m\n./main.go:8:2: undefined: foo\n./main.go:9:5: x declared',
      './main.go:8:2: undefined: foo',
    ],
    [
      'make',
      2,
      "main.cpp:(.text+0x5): undefined reference to `foo()'\ncollect2: error: ld returned 1 exit status",
      "main.cpp:(.text+0x5): undefined reference to `foo()'",
    ],
    [
      './gradlew build',
      1,
      'AddsTest > adds() FAILED\n    org.opentest4j.AssertionFailedError: expected: <3> but was: <4>\n\n* What went wrong:\nExecution failed.',
      'org.opentest4j.AssertionFailedError: expected: <3> but was: <4>',
    ],
    [
      'pnpm build',
      1,
      'x Build failed in 120ms\nerror during build:\n[vite]: Rollup failed to resolve import "foo".',
      '[vite]: Rollup failed to resolve import "foo".',
    ],
    [
      'biome check .',
      1,
      './a.ts:3:7 lint/useConst FIXABLE\n\n  ✖ This let is assigned once.\n\nFound 1 error.',
      '✖ This let is assigned once.',
    ],
    [
      'git commit -m x',
      1,
      'On branch main\nnothing to commit, working tree clean',
      'nothing to commit, working tree clean',
    ],
  ])('%j that ends with %i', (command, code, output, sample) => {
    expect(ran(command, code, output)).toEqual([sample])
  })

  it.each([
    // A program says so itself, and the exit code is thrown away.
    [
      'tool signal started || true',
      '{\n  "success": false,\n  "error_type": "no-id",\n  "message": "A session id is needed"\n}',
      'A session id is needed',
    ],
    [
      'tool upload --issue-number 7 || true',
      "Usage: tool upload [OPTIONS]\nTry 'tool upload -h' for help.\n\nError: No such option: --issue-number",
      'Error: No such option: --issue-number',
    ],
    [
      'go test ./svg 2>&1 | tail -40',
      '--- FAIL: TestInk (0.00s)\n    ink_test.go:4: no ink\nFAIL',
      '--- FAIL: TestInk (0.00s)',
    ],
    [
      'npm run build 2>&1 | tail -3',
      'npm error enoent This is about a file.\n',
      'npm error enoent This is about a file.',
    ],
    [
      'tool pr check 2>&1 || true',
      'Checking\n[PASS] name\n[FAIL] the footer is missing\n\n1 check failed',
      '[FAIL] the footer is missing',
    ],
    [
      'python build.py | tail -5',
      'Traceback (most recent call last):\n  File "build.py", line 1\nKeyError: \'name\'',
      "KeyError: 'name'",
    ],
    // Whoever runs the programs, of whatever.
    [
      'python -m tools.docs 2>&1 | tail -9',
      '/v/bin/python: No module named tools',
      '/v/bin/python: No module named tools',
    ],
    [
      'render --all\necho done',
      'bash: line 1: render: command not found\ndone',
      'bash: line 1: render: command not found',
    ],
    // Go names a package, and behind that only what is wrong in it.
    [
      'go build ./... 2>&1 | head -50',
      '# example.com/m/ink\nink\\pen.go:8:2: cannot use n (variable of type int) as string value',
      'ink\\pen.go:8:2: cannot use n (variable of type int) as string value',
    ],
    [
      'mypy src | tail -2',
      'src/a.py:9: error: Name "x" is not defined\nFound 1 error in 1 file',
      'src/a.py:9: error: Name "x" is not defined',
    ],
    [
      'npx eslint . | tail -4',
      '/w/a.ts\n  9:5  error  No any  no-any\n\n✖ 1 problem (1 error)',
      '9:5 error No any no-any',
    ],
    // Tests failed by the runner's own count.
    ['pytest -q | tail -1', '2 failed, 1 passed in 0.87s', '2 failed, 1 passed in 0.87s'],
    ['bun test 2>&1 | tail -9', '(fail) ink > dries\n\n 3 pass\n 1 fail', '(fail) ink > dries'],
    ['mix test | tail -1', '3 tests, 1 failure', '3 tests, 1 failure'],
    // What git and its like say of themselves.
    [
      'git push 2>&1 | tail -3',
      " ! [rejected] main -> main (fetch first)\nerror: failed to push some refs to 'x'\nhint: pull",
      "error: failed to push some refs to 'x'",
    ],
    // PowerShell goes on behind an error.
    [
      '$a = gc a.md | Select-Object -Index 3..9; $a',
      'Select-Object : Cannot bind parameter \'Index\'. Cannot convert value \n"3..9".\nAt line:1 char:14\n+ $a = gc a.md | Select-Object -Index 3..9; $a\n+              ~~~\n    + FullyQualifiedErrorId : CannotConvert',
      'Select-Object : Cannot bind parameter \'Index\'. Cannot convert value "3..9".',
    ],
  ])('hidden by the exit code of %j', (command, output, sample) => {
    expect(ran(command, 0, output)).toEqual([sample])
  })

  it.each([
    ['tool list', '{"success": true, "error": null}'],
    ['cat report.json', '{"success": false, "message": "of long ago"}'],
    ['cat build.log | tail -5', 'error: of long ago'],
    ['npm test 2>&1 | tail -3', 'caught: TypeError: x\n12 passed'],
    ['render --all || echo none', 'bash: line 1: render: command not found\nnone'],
    ['git log -3 | cat; git status', 'error: of long ago'],
    ['git switch a 2>&1 || git switch -c a', "fatal: invalid reference: a\nSwitched to a new branch 'a'"],
    ['go doc x | head', 'a.go:1:2: an example'],
    ['git merge-tree main side | grep CONFLICT', 'CONFLICT (content): Merge conflict in a.txt'],
    ['until curl -sS localhost:8080; do sleep 1; done', 'curl: (7) Failed to connect to localhost'],
    ['docker rm old; docker ps', 'Error response from daemon: No such container: old'],
    ['pytest | tail -1', '3 passed, 0 failed in 0.1s'],
    // Of a log that is read, not of the command.
    [
      'Get-Content run.log | Select-Object -Last 9',
      'gc : Cannot find path\nAt line:1 char:1\n+ gc b.md\n+ ~~~\n    + FullyQualifiedErrorId : PathNotFound',
    ],
  ])('not what %j shows', (command, output) => {
    expect(ran(command, 0, output)).toEqual([])
  })

  it('what a sub-agent reports of checks, and of nothing else', () => {
    const prompt = 'Run `make ci` and report.'
    expect(
      asked(
        'Run make ci',
        prompt,
        '## Summary\n\nThe `make ci` command **FAILED** with exit code 2.\n- Lint: PASSED\n- **Format**: 1 file would be reformatted',
      ),
    ).toEqual([
      'The `make ci` command **FAILED** with exit code 2: - **Format**: 1 file would be reformatted',
    ])
    expect(
      asked(
        'Run tests',
        prompt,
        'pytest failed: 1 issue found\n- Error: `TypeError: f() missing 1 argument`',
      ),
    ).toEqual(['pytest failed: 1 issue found: - Error: `TypeError: f() missing 1 argument`'])
    expect(asked('Run tests', prompt, '8 tests passed\n### view Tests - PARTIAL FAILURE')).toEqual([
      '### view Tests - PARTIAL FAILURE',
    ])
    for (const report of [
      'All checks passed, no failures.',
      '- Passed: 25\n- Failed: 0',
      '237 passed, 0 failed',
    ])
      expect(asked('Run tests', prompt, report)).toEqual([])
    expect(
      asked(
        'Explore the parser',
        'Look at it.',
        'Phase 4: Failure Pattern Learning\nStatus: FAILED is a constant',
      ),
    ).toEqual([])
    // Its provider let it do nothing, whatever it was to do.
    expect(asked('Explore the parser', 'Look at it.', 'API Error: 404 no such model')).toEqual([
      'API Error: 404 no such model',
    ])
  })
})

it('a shell inside the command says that something is not there', () => {
  for (const [said, line] of [
    ['widget: MISSING\nzsh:7: command not found: own_widget', 'zsh:7: command not found: own_widget'],
    ['size:\nzsh:4: no such file or directory: /tmp/own-1', 'zsh:4: no such file or directory: /tmp/own-1'],
  ] as const) {
    const { failures } = new Script().run("wsl -- zsh -i -c 'own_widget; echo $?'", 0, said).facts()
    expect([...failures.values()].map(({ sample }) => sample)).toEqual([line])
  }
})

it('one failure of two files is told twice, with one fingerprint', () => {
  const script = new Script()
    .edit(
      'docs/a.md',
      'apply_patch verification failed: Failed to find expected lines in /w/docs/a.md:\n## One',
    )
    .edit(
      'docs/b.md',
      'apply_patch verification failed: Failed to find expected lines in /w/docs/b.md:\n## Two',
    )
    .edit(
      'docs/a.md',
      'apply_patch verification failed: Failed to find expected lines in /w/docs/a.md:\n## Three',
    )
  const found = [...script.facts().failures.values()]
  expect(found.map((one) => [one.about, one.seqs.count])).toEqual([
    ['/w/docs/a.md', 2],
    ['/w/docs/b.md', 1],
  ])
  expect(new Set(found.map((one) => one.fingerprint)).size).toBe(1)
})
