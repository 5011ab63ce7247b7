// What overcame a failure: the later call that tries the same and succeeds, and the steps that matter; nothing where no
// call is known to. Sessions of our own making.
import { describe, expect, it } from 'vitest'
import { mendsOf } from '../src/digest/mends.ts'
import { resolutionsOf } from '../src/digest/resolution.ts'
import { type Made, Script } from './setup/digest-events.ts'

/** Of each failure, in order: the steps that mended it, or null. */
function mends(script: Script): (string[] | null)[] {
  const facts = script.facts()
  expect(script.stepwise()).toEqual(facts)
  const found = resolutionsOf(facts)
  return [...facts.failures.keys()].map((key) => found.get(key)?.steps.map((step) => step.what) ?? null)
}

class Work extends Script {
  #reads = 0

  read(path: string, made: Made = {}): this {
    const call = `read${++this.#reads}`
    this.add({
      kind: 'tool_call',
      role: 'assistant',
      tool: 'Read',
      call,
      does: 'read',
      summary: `Read ${path}`,
      files: [path],
    })
    return this.add({
      kind: 'tool_result',
      role: 'tool',
      tool: 'Read',
      call,
      state: 'ok',
      summary: 'text',
      ...made,
    })
  }

  agent(inShort: string, prompt: string, report: string): this {
    const call = `agent${++this.#reads}`
    this.add({
      kind: 'tool_call',
      role: 'assistant',
      tool: 'Task',
      call,
      does: 'spawn',
      summary: `Task: ${inShort}`,
      body: { input: { prompt } },
    })
    return this.result(call, 'Task', 0, report)
  }

  missed(path: string): this {
    return this.read(path, {
      kind: 'error',
      state: 'failed',
      summary: 'File does not exist.',
      body: { said: 'File does not exist.' },
    })
  }
}
const work = (): Work => new Work().prompt('go') as Work

const MISSING = (program: string): string => `bash: line 1: ${program}: command not found`
const UNREAD = 'File has not been read yet. Read it first before writing to it.'

describe('a program that is not there is overcome', () => {
  it.each([
    ['python -m http.server', 'python', 'python3 -m http.server'],
    ['rg -n needle src', 'rg', 'grep -rn needle src'],
    ['just fmt', 'just', 'cargo fmt --all'],
    ['nl -ba src/a.ts | head', 'nl', 'Get-Content -Path src/a.ts'],
  ])('%j by the program that takes its place', (failed, program, done) => {
    expect(mends(work().run(failed, 127, MISSING(program)).run(done, 0, 'x'))).toEqual([[done]])
  })

  it('by installing it', () => {
    const script = work()
      .run('jq . a.json', 127, MISSING('jq'))
      .run('brew install jq', 0, 'ok')
      .run('jq . a.json', 0, '{}')
    expect(mends(script)).toEqual([['brew install jq']])
  })

  it('not by a list of files where it was to search in them', () => {
    expect(mends(work().run('rg -n needle', 127, MISSING('rg')).run('ls -R src', 0, 'x'))).toEqual([null])
    expect(mends(work().run('rg -l .', 127, MISSING('rg')).run('ls -R .', 0, 'x'))).toEqual([['ls -R .']])
  })

  it('not by looking whether it is there, nor by something else', () => {
    expect(
      mends(work().run('rg -n needle src', 127, MISSING('rg')).run('command -v rg || echo no', 0, 'no')),
    ).toEqual([null])
    expect(mends(work().run('yq .a conf.yaml', 127, MISSING('yq')).run('gh issue list', 0, 'x'))).toEqual([
      null,
    ])
  })
})

it('what a provider refused is overcome by asking again, and what no program did by no verb they share', () => {
  const refused = work()
    .agent('Sort the comments', 'Sort them.', 'API Error: 404 no such model')
    .agent('Sort the comments', 'Sort them.', 'Two of them ask for a change.')
  expect(mends(refused)).toEqual([['Task Sort the comments']])
  const other = work()
    .run('cp tool /tmp/own-1 && /tmp/own-1 init zsh', 1, 'zsh:4: no such file or directory: /tmp/own-1')
    .run('$script = & tool.exe init pwsh; $script | Invoke-Expression', 0, 'ok')
  expect(mends(other)).toEqual([null])
})

it('a command is known by its end too, whatever long text it writes before', () => {
  const text = `cat > notes.md <<'EOF'\n${'a line of the notes\n'.repeat(200)}EOF\n`
  const script = work().run(`${text}post notes.md -P x`, 2, "error: unexpected argument '-P' found")
  expect(mends(script.run('post notes.md --file x', 0, 'sent'))).toEqual([['post notes.md --file x']])
})

describe('a file', () => {
  it('has to be read before it is changed', () => {
    const script = work()
      .edit('/w/a.ts', UNREAD)
      .read('/w/b.ts')
      .read('/w/a.ts')
      .edit('/w/b.ts')
      .edit('/w/a.ts')
    expect(mends(script)).toEqual([['Read /w/a.ts', 'edit /w/a.ts']])
  })

  it('that could not be changed is changed by another tool', () => {
    const script = work()
      .edit('docs/a.md', 'Failed to find expected lines in /w/docs/a.md:\n## One')
      .run('python -c "print(open(\'docs/a.md\').read())"', 0, 'text')
      .run("$path = 'docs/a.md'; $text = Get-Content $path; Set-Content $path ($text + 'x')", 0)
    expect(mends(script)).toEqual([[expect.stringContaining('Set-Content')]])
  })

  it('that is not there is found elsewhere', () => {
    expect(
      mends(
        work()
          .run("sed -n '1,9p' core/protocol.rs", 1, 'sed: core/protocol.rs: No such file or directory')
          .run("sed -n '1,9p' api/protocol.rs", 0, 'x'),
      ),
    ).toEqual([["sed -n '1,9p' api/protocol.rs"]])
    expect(
      mends(
        work()
          .run('cat lib/guess.py', 1, 'cat: lib/guess.py: No such file or directory')
          .run('ls lib', 0, 'a.py'),
      ),
    ).toEqual([['ls lib']])
    expect(mends(work().missed('/w/old/a.ts').read('/w/new/a.ts'))).toEqual([['Read /w/new/a.ts']])
  })

  it('that was searched and is not there is searched elsewhere, for one of the words', () => {
    const searched = (pattern: string): (string[] | null)[] =>
      mends(
        work()
          .run("rg -n 'agent_rules|skills' src/sdk.ts", 2, 'rg: src/sdk.ts: No such file or directory')
          .run(`rg -n '${pattern}' src`, 0, 'src/a.ts:1: skills'),
      )
    expect(searched('class Rules|skills')).toEqual([["rg -n 'class Rules|skills' src"]])
    expect(searched('class Rules|parse')).toEqual([null])
  })

  it('that is not there is not found by a search without a match, nor by what is done to it later', () => {
    const missing = (): Work =>
      work().run('cat lib/guess.py', 1, 'cat: lib/guess.py: No such file or directory')
    expect(mends(missing().run("rg --files -g 'guess.py'", 1))).toEqual([null])
    expect(mends(missing().run("rg --files -g 'guess.py'", 0, 'src/guess.py'))).toEqual([
      ["rg --files -g 'guess.py'"],
    ])
    expect(mends(missing().edit('src/lib/guess.py'))).toEqual([null])
    expect(mends(missing().run('git add lib/guess.py', 0))).toEqual([null])
  })

  it('that could not be changed is changed by a command that has its name in a variable', () => {
    const script = work()
      .edit('docs/a.md', 'String to replace not found in file.')
      .run("$f='docs/a.md'; $lines = Get-Content $f; $lines[3] = 'x'; Set-Content -Path $f -Value $lines", 0)
    expect(mends(script)).toEqual([[expect.stringContaining('$lines[3]')]])
  })

  it('that is not there stays so where nobody looks for it', () => {
    expect(
      mends(
        work()
          .run('cat NOTES.md', 1, 'cat: NOTES.md: No such file or directory')
          .run('cat README.md', 0, 'x')
          .run('ls src', 0),
      ),
    ).toEqual([null])
  })
})

describe('a check is overcome', () => {
  const BROKEN = 'error[E0308]: mismatched types\n --> src/main.rs:3:5'

  it('by the edit of a file that it names, not by those beside it', () => {
    const script = work()
      .run('cargo build', 101, BROKEN)
      .edit('docs/x.md')
      .edit('src/main.rs')
      .edit('docs/y.md')
      .run('cargo build', 0)
    expect(mends(script)).toEqual([['edit src/main.rs']])
  })

  it('where it fails with something else and gets as far', () => {
    const script = work()
      .test('cargo test', 101, BROKEN)
      .edit('src/main.rs')
      .test('cargo test', 101, "thread 'adds' panicked at tests/a.rs:9:1:\nassertion failed")
    expect(mends(script)).toEqual([['edit src/main.rs'], null])
  })

  it('not where it does not get as far, nor where it is only asked about or left out', () => {
    const failed = (): Work => work().test('pytest tests', 1, 'E   AssertionError: 1 != 2\ntests/test_a.py:3')
    expect(
      mends(failed().edit('tests/test_a.py').test('pytest tests', 2, 'SyntaxError: invalid syntax'))[0],
    ).toBeNull()
    expect(mends(failed().edit('tests/test_a.py').run('pytest tests --collect-only', 0, 'x'))).toEqual([null])
    expect(mends(failed().test('pytest tests --deselect tests/test_a.py', 0, '3 passed'))).toEqual([null])
  })

  it('in the report of a sub-agent, by what another one was told to do', () => {
    const told = 'Run `make ci` from the root and report.'
    const script = work()
      .agent('Run make ci', told, '**Status: FAILED**\n- Format: 1 file would be reformatted')
      .agent('Run make format', 'Run `make format` and report.', 'make format passed.')
      .agent('Re-run make ci', told, 'All checks passed.')
    expect(mends(script)).toEqual([[expect.stringContaining('Run make format')]])
  })

  it('by another check of the same program, of all, once the file it names was changed', () => {
    const failed = (): Work =>
      work().run('go vet ./a/...', 1, 'vet: a/b_test.go:9:1: cannot use x as y value')
    expect(mends(failed().edit('src/a/b_test.go').test('go test ./...', 0, 'ok  a 0.1s'))).toEqual([
      ['edit src/a/b_test.go'],
    ])
    expect(mends(failed().edit('src/a/b_test.go').test('go test ./c', 0, 'ok  c 0.1s'))).toEqual([null])
    expect(mends(failed().edit('src/a/other.go').test('go test ./...', 0, 'ok  a 0.1s'))).toEqual([null])
  })

  it('by the command that is told what to mend, not by an edit beside it', () => {
    const script = work()
      .run('ruff check .', 1, 'a.py:1:1: I001 Import block is un-sorted\nFound 1 error.')
      .edit('b.py')
      .run('ruff check --select I001 --fix a.py', 0)
      .run('ruff check .', 0)
    expect(mends(script)[0]).toEqual(['ruff check --select I001 --fix a.py'])
  })

  it('by what a command did before its last part failed', () => {
    const script = work()
      .run('tool pr check', 1, '[FAIL] build/out/ is still there')
      .run('rm -rf /w/build/out/ && git push', 1, 'error: failed to push some refs')
      .run('git pull && git push', 0)
      .run('tool pr check', 0, 'All checks passed')
    expect(mends(script)).toEqual([['rm -rf /w/build/out/ && git push'], ['git pull && git push']])
  })

  it('by nothing in the project where the sandbox was in the way', () => {
    const script = work()
      .run('cargo clippy', 101, 'error: failed to bind TCP listener')
      .edit('src/a.rs')
      .run('cargo clippy', 0)
    expect(mends(script)).toEqual([['cargo clippy']])
  })
})

it('what a compiler says of a file is not mended by edits of others', () => {
  const said = "src/ink.ts(9,5): error TS2345: Argument of type 'string' is not assignable."
  const failed = (): Work => work().run('npx tsc --noEmit', 1, said)
  expect(mends(failed().edit('src/pen.ts').run('npx tsc --noEmit', 0))).toEqual([null])
  expect(mends(failed().edit('src/ink.ts').run('npx tsc --noEmit', 0))).toEqual([['edit src/ink.ts']])
})

describe('a command is overcome', () => {
  it('by the same one, put otherwise', () => {
    const script = work()
      .run(
        "python - <<'PY'\nprint(1)\nPY",
        1,
        'At line:1 char:10\n+ python - <<PY\n+ ~\nMissing file specification after redirection operator.',
      )
      .run('python -c "print(1)"', 0, '1')
    expect(mends(script)).toEqual([['python -c "print(1)"']])
  })

  it('by another look at the file, where a script that no shell understood only looked at it', () => {
    const said =
      'At line:1 char:10\n+ python - <<PY\n+ ~\nMissing file specification after redirection operator.'
    const failed = (script: string): Work =>
      work().run("python - <<'PY'", 1, said, {
        hasMore: true,
        body: { command: `python - <<'PY'\n${script}\nPY`, said },
      })
    const look = 'Get-Content src/ink.rs | Select-Object -First 9'
    expect(mends(failed("print(open('src/ink.rs').read())").run(look, 0, 'x'))).toEqual([[look]])
    expect(mends(failed("print(open('src/ink.rs').read())").run('Get-Content src/pen.rs', 0, 'x'))).toEqual([
      null,
    ])
    expect(mends(failed("open('src/ink.rs', 'w').write('x')").run(look, 0, 'x'))).toEqual([null])
  })

  it('by a change of what is there already', () => {
    const failed = (): Work =>
      work().run(
        'gh pr create --title Ink',
        1,
        'a pull request for branch "ink" into branch "main" already exists:\nhttps://github.com/o/r/pull/4711',
      )
    expect(mends(failed().run('gh pr edit 4711 --title Ink', 0))).toEqual([['gh pr edit 4711 --title Ink']])
    expect(mends(failed().run('gh pr edit 4712 --title Pen', 0))).toEqual([null])
    expect(mends(failed().run('gh pr list', 0, '4711'))).toEqual([null])
  })

  it('without going where it is already', () => {
    const script = work()
      .run('cd web && npm run build', 1, 'bash: line 1: cd: web: No such file or directory')
      .run('npm run build', 0, 'built')
    expect(mends(script)).toEqual([['npm run build']])
  })

  it('by a tool that is there, given the same', () => {
    const script = work()
      .add({
        kind: 'tool_call',
        role: 'assistant',
        tool: 'assistant',
        call: 'a',
        summary: 'assistant: {"command":["bash","-lc","ls -R"]}',
      })
      .add({
        kind: 'error',
        role: 'tool',
        tool: 'assistant',
        call: 'a',
        state: 'failed',
        summary: 'unsupported call: assistant',
        body: { said: 'unsupported call: assistant' },
      })
      .run('ls -R', 0, 'src')
    expect(mends(script)).toEqual([['ls -R']])
  })

  it('by the command that writes the file that was not there', () => {
    const made = "cat <<'EOF' > docs/ink.md"
    const script = work()
      .run('cat docs/ink.md', 1, 'cat: docs/ink.md: No such file or directory')
      .run(made, 0, '', { hasMore: true, body: { command: `${made}\nInk\nEOF`, said: '' } })
      .run('cat docs/ink.md', 0, 'Ink')
    expect(mends(script)[0]?.[0]).toContain(made)
  })

  it('by the same one that was given less', () => {
    const script = work()
      .run('grep -rn needle .', 124, 'command timed out')
      .run('grep -rn needle src', 0, 'x')
    expect(mends(script)).toEqual([['grep -rn needle src']])
  })

  it('not by a later part that it never came to', () => {
    const script = work()
      .run('git rm -r old/ && git push', 128, "fatal: pathspec 'old/' did not match any files")
      .run('git pull && git push', 0)
    expect(mends(script)).toEqual([null])
  })

  it('by its name spelled right, however that run ends', () => {
    const failed = (): Work => work().run('node tset.js', 1, "Error: Cannot find module '/w/tset.js'")
    expect(mends(failed().run('node test.js', 0))).toEqual([['node test.js']])
    expect(mends(failed().run('node test.js', 1, 'AssertionError: 1 != 2'))[0]).toEqual(['node test.js'])
    expect(mends(failed().run('node main.js', 0))).toEqual([null])
  })

  it('by another program, about the same number', () => {
    const failed = (): Work =>
      work().run('tool close 7839 --comment x', 1, 'Failed to add: PR #7839 not found')
    expect(mends(failed().run('gh issue comment 7839 --body x', 0))).toEqual([
      ['gh issue comment 7839 --body x'],
    ])
    expect(mends(failed().run('gh issue comment 7840 --body x', 0))).toEqual([null])
    expect(mends(failed().run('gh pr view 7839', 0, 'x'))).toEqual([null])
  })

  it('by the search that is put so that it is understood', () => {
    const script = work()
      .run(
        "rg -n '(?<!a)b' src",
        2,
        'rg: regex parse error:\n    (?:(?<!a)b)\nerror: look-around is not supported',
      )
      .run("rg -n 'b' src", 0, 'src/a:1:b')
    expect(mends(script)).toEqual([["rg -n 'b' src"]])
  })

  it('not by another task of the same program', () => {
    const script = work()
      .run('tool signal started', 1, 'Error: no id')
      .run('tool signal ended', 0)
      .run('tool --help', 0)
    expect(mends(script)).toEqual([null])
  })
})

describe('what a failure was about is', () => {
  it('the file that a text was to change, which is changed otherwise', () => {
    const script = "@'\nfrom pathlib import Path\nPath('docs/a.md').write_text('x')\n'@ | python -"
    const failed = (): Work => work().run(script, 1, 're.error: multiple repeat at position 4') as Work
    expect(mends(failed().edit('docs/a.md'))).toEqual([['edit docs/a.md']])
    expect(mends(failed().edit('docs/b.md'))).toEqual([null])
    const patch = '*** Begin Patch\n*** Update File: src/a.rs\n-x\n+y\n*** End Patch'
    const unread = work().run(patch, 127, MISSING('***')).run('sed -n 1,9p src/a.rs', 0, 'x')
    expect(mends(unread.edit('src/a.rs'))).toEqual([['edit src/a.rs']])
  })

  it('a file called by a wrong path, if the right one comes next', () => {
    const missed = (): Work => work().edit('/w/tmp/ab/notes.md', 'File does not exist.') as Work
    expect(mends(missed().edit('/w/tmp/abc/notes.md'))).toEqual([['edit /w/tmp/abc/notes.md']])
    expect(mends(missed().edit('/w/tmp/abc/other.md'))).toEqual([null])
  })

  it('a file that a pattern finds, and not another one of its name much later', () => {
    const missing = (): Work =>
      work().run('rg -n card CARD_ROADMAP.md', 2, 'rg: CARD_ROADMAP.md: No such file or directory') as Work
    const found = missing().run('rg --files -g "*ROADMAP*"', 0, 'docs/CARD_ROADMAP_2.md')
    expect(mends(found)).toEqual([['rg --files -g "*ROADMAP*"']])
    expect(mends(missing().run('rg --files -g "*GUIDE*"', 0, 'docs/GUIDE.md'))).toEqual([null])
    const later = work().run('cat a/plan.md', 1, 'cat: a/plan.md: No such file or directory')
    for (let step = 0; step < 12; step++) later.run(`echo ${step}`, 0, 'x')
    expect(mends(later.run('cat b/c/plan.md', 0, 'x') as Work)).toEqual([null])
  })

  it('a file that was made in between', () => {
    const script = work().run('cat a/plan.md', 1, 'cat: a/plan.md: No such file or directory')
    expect(mends(script.edit('a/plan.md').run('cat a/plan.md', 0, 'x'))).toEqual([['edit a/plan.md']])
  })

  it('in the file that a compiler names on the next line', () => {
    const output = 'error[E0599]: no method named `ok` found\n  --> src/b.rs:3:1\n  --> src/c.rs:9:1'
    const script = work()
      .run('cargo build', 101, output)
      .edit('src/c.rs')
      .edit('src/b.rs')
      .run('cargo build', 0)
    expect(mends(script)).toEqual([['edit src/b.rs']])
  })
})

describe('nobody knows what mended it', () => {
  const failed = (): Work => work().test('pytest tests', 1, 'E   AssertionError: assert 1 == 2') as Work
  it('where more files were changed than can be named, also if it passes again later', () => {
    const changed = failed()
    for (const name of ['a', 'b', 'c', 'd']) changed.edit(`src/${name}.py`)
    changed.test('pytest tests', 0, '3 passed in 1s')
    expect(mends(changed)).toEqual([null])
    expect(mends(changed.edit('src/e.py').test('pytest tests', 0, '3 passed in 1s'))).toEqual([null])
  })

  it('where it passes with the work put aside', () => {
    expect(mends(failed().run('git stash && pytest tests', 0, '3 passed in 1s'))).toEqual([null])
  })

  it('where only the next report is a good one', () => {
    const report = (text: string, inShort = 'Run the tests'): [string, string, string] => [
      inShort,
      'Run `pytest tests` and report. Do not format or update anything.',
      text,
    ]
    const bad = (): Work => work().agent(...report('pytest failed: 1 issue found'))
    expect(mends(bad().agent(...report('pytest passed: 3 tests')))).toEqual([null])
    expect(
      mends(
        bad()
          .edit('src/a.py')
          .agent(...report('pytest passed: 3 tests')),
      ),
    ).toEqual([['edit src/a.py']])
  })

  it('where it was given up', () => {
    const conflict = work().run('git cherry-pick abc1234', 1, 'error: could not apply abc1234... change it')
    expect(mends(conflict.run('git cherry-pick --abort', 0, '') as Work)).toEqual([null])
  })
})

it('ways that do alike things are one, and what worked most often comes first', () => {
  const met = (uid: string, at: number, ...whats: string[]) => ({
    session_uid: uid,
    at,
    resolved_by:
      whats.length === 0
        ? null
        : JSON.stringify({
            failed_seq: 1,
            resolved_seq: 9,
            steps: whats.map((what, i) => ({ seq: i + 2, what })),
          }),
  })
  const found = mendsOf([
    met('s:a', 4, 'find . -name x'),
    met('s:b', 3, 'grep -rn one src'),
    met('s:c', 2, 'grep -rn two lib | head'),
    met('s:d', 5),
  ])
  expect(
    found.map(({ times, sessions, steps }) => [
      times,
      sessions.map((one) => one.session_uid),
      steps[0]?.what,
    ]),
  ).toEqual([
    [2, ['s:b', 's:c'], 'grep -rn one src'],
    [1, ['s:a'], 'find . -name x'],
  ])
})

it('a test that failed among all is mended by the edit of its file, where that file passes alone', () => {
  const script = work()
    .agent('Run make ci', 'Run `make ci`.', 'make ci failed: 1 test\n- tests/test_gate.py::test_open FAILED')
    .edit('/w/tests/test_gate.py')
    .agent('Rerun the test', 'Run `pytest tests/test_gate.py`.', '4 passed')
  expect(mends(script)).toEqual([['edit /w/tests/test_gate.py']])
})

describe('no mend is', () => {
  it('to look at the file that a script was to change', () => {
    const script = work()
      .run("$p = 'a.md'; $t = Get-Content $p; $t[0] = 'x'; Set-Content $p $t", 1, 'Title not found')
      .run("$p = 'a.md'; $t = Get-Content $p; $t[0]", 0, '# A')
    expect(mends(script)).toEqual([null])
  })

  it('that a file is there in the end: it came by something that is not known', () => {
    const script = work()
      .run('cat specs/a.md', 1, 'cat: specs/a.md: No such file or directory')
      .run('make specs', 0, 'made')
      .run('cat specs/a.md', 0, '# A')
    expect(mends(script)).toEqual([null])
  })

  it('a check of which only the lines are counted', () => {
    const script = work()
      .run('npx markdownlint a.md 2>&1 | tail -8', 0, 'a.md:3:1 error MD060 Table column style')
      .run('npx markdownlint a.md b.md 2>&1 | grep -c MD060', 0, '3')
    expect(mends(script)).toEqual([null])
  })
})

it('a command with the name of one instead of many is the same', () => {
  const script = work()
    .run('tool exec resolve-threads --id T1', 1, 'Error: broken input')
    .run('tool exec resolve-thread --id T1', 0, 'ok')
  expect(mends(script)).toEqual([['tool exec resolve-thread --id T1']])
})
