// Signals, resolutions and the rules of the outcome, on conversations of a few lines.
import { describe, expect, it } from 'vitest'
import type { DigestEvent } from '../src/digest/event.ts'
import { bucketShares } from '../src/digest/metrics.ts'
import { outcomeOf } from '../src/digest/outcome.ts'
import { resolutionsOf } from '../src/digest/resolution.ts'
import { type SignalName, signalsOf } from '../src/digest/signals.ts'
import { type Made, Script } from './setup/digest-events.ts'

const names = (script: Script): SignalName[] => signalsOf(script.facts()).map((one) => one.signal)
const found = (script: Script, name: SignalName) =>
  signalsOf(script.facts()).filter((one) => one.signal === name)

describe('signals', () => {
  it('a calm session has none', () => {
    const calm = new Script().prompt('hi').run('ls', 0).edit('a.ts').test('npm test', 0).answer('Done.')
    expect(names(calm)).toEqual([])
  })

  it('retry_loop: the same call failing three times with no success in between', () => {
    const loop = new Script()
      .run('make', 2, 'error: x')
      .run('make', 2, 'error: x')
      .run('ls', 0)
      .run('make', 2, 'error: x')
    expect(found(loop, 'retry_loop')).toEqual([
      { signal: 'retry_loop', subject: 'make', count: 3, seqs: [1, 3, 7] },
    ])
    const overcome = new Script().run('make', 2).run('make', 2).run('make', 0).run('make', 2)
    expect(names(overcome)).not.toContain('retry_loop')
  })

  it('test_fixed and tests_left_failing', () => {
    const fixed = new Script().test('npm test', 1).edit('a.ts').test('npm test', 0)
    expect(found(fixed, 'test_fixed')).toEqual([
      { signal: 'test_fixed', subject: 'npm test', count: 1, seqs: [1, 5] },
    ])
    expect(names(fixed)).not.toContain('tests_left_failing')
    // The summary of a long command ends within the name of a test; all of a module holds each of its packages.
    const far = 'wsl -- bash -lc "cd far && go version && go test ./segments/... -run TestOneThingThat'
    const long = (script: Script, rest: string, exitCode: number): Script =>
      script.run(`${far}…`, exitCode, '', { kind: 'test_run', body: { command: `${far}${rest}"` } })
    const within = (rest: string): SignalName[] =>
      names(long(long(new Script(), 'Fails', 1).edit('a.go'), rest, 0))
    expect(within('Fails -v')).toEqual(['test_fixed'])
    expect(found(long(new Script(), 'Fails', 1), 'tests_left_failing')).toMatchObject([
      { subject: 'go test ./segments/... -run TestOneThingThatFails' },
    ])
    expect(within('Passes')).toEqual(['tests_left_failing'])
    const all = new Script().test('go test ./segments/...', 1).edit('a.go').test('go test ./...', 0)
    expect(names(all)).toEqual(['test_fixed'])
    const left = new Script().test('npm test', 0).edit('a.ts').test('npm test', 1)
    expect(names(left)).toEqual(['tests_left_failing'])
  })

  it('a retry of a test is a test', () => {
    const again = new Script().test('npm test', 1).run('npm test', 0, '', { kind: 'retry' })
    expect(again.facts().tests.runs.map((test) => test.verdict)).toEqual(['failed', 'passed'])
  })

  it('repeated_interruption, permission_denied, context_thrash, request_trouble', () => {
    const script = new Script().prompt('go').interrupt().prompt('go').interrupt()
    for (let at = 0; at < 2; at++) script.add({ mark: 'compaction' })
    for (let at = 0; at < 3; at++) script.add({ kind: 'retry', summary: 'request failed, retrying' })
    script.add({ kind: 'error', role: 'tool', mark: 'denied', summary: 'This command requires approval' })
    expect(names(script).sort()).toEqual([
      'context_thrash',
      'permission_denied',
      'repeated_interruption',
      'request_trouble',
    ])
  })

  it('a command whose own output says "permission denied" was not denied', () => {
    expect(names(new Script().run('cat /etc/shadow', 1, 'cat: permission denied'))).toEqual([])
  })

  it('tool_never_succeeds, repeated_error', () => {
    const script = new Script()
    for (const file of ['a.ts', 'b.ts', 'c.ts'])
      script.edit(file, `Failed to find expected lines in /x/${file}`)
    expect(names(script).sort()).toEqual(['repeated_error', 'tool_never_succeeds'])
    expect(names(script.edit('d.ts'))).toEqual(['repeated_error'])
  })

  it('edit_churn on one file, failed edits not counted', () => {
    const script = new Script()
    for (let at = 0; at < 5; at++) script.edit('a.ts')
    expect(names(script.edit('a.ts', 'no'))).not.toContain('edit_churn')
    expect(found(script.edit('a.ts'), 'edit_churn')).toMatchObject([{ subject: 'a.ts', count: 6 }])
  })

  it('what was inherited or taken back does not count', () => {
    const script = new Script()
      .prompt('old', { isInherited: true })
      .prompt('wrong', { isSuperseded: true })
      .prompt('new')
    for (const flag of ['isInherited', 'isSuperseded'] as const)
      for (let at = 0; at < 4; at++) script.run('make', 2, 'error: x', { [flag]: true })
    const facts = script.facts()
    expect(facts).toMatchObject({
      eventCount: 1,
      toolHistogram: new Map(),
      failures: new Map(),
      firstPrompt: { text: 'new' },
    })
    expect(signalsOf(facts)).toEqual([])
  })

  it('a long prompt is told as it was said, of which the row has the beginning', () => {
    const asked = 'Mend the parser, '.repeat(12)
    const script = new Script().prompt(`${asked.slice(0, 139)}…`, { body: { said: asked } })
    expect(script.facts().firstPrompt?.text).toBe(asked.trim())
  })

  it('bodies are read only where the row says too little', () => {
    const script = new Script().prompt('fix it').run('ls', 0).edit('a.ts').test('npm test', 0).answer('Done.')
    script.facts()
    // What was asked and answered, and the command of the tests: a row has the first line of them.
    expect(script.bodiesRead).toBe(3)
    script.run('make', 2, 'error: x').facts()
    expect(script.bodiesRead).toBe(3 + 4)
  })
})

describe('what resolved a failure', () => {
  it('is what was edited between the last failure and the first success', () => {
    const script = new Script()
      .run('make', 2, 'error: no rule')
      .edit('Makefile')
      .run('make', 2, 'error: no rule')
      .edit('other.mk')
      .run('touch x', 0)
      .run('make', 0)
      .run('make', 0)
    const [resolution] = [...resolutionsOf(script.facts()).values()]
    expect(resolution).toEqual({
      failed_seq: 5,
      resolved_seq: 11,
      steps: [{ seq: 7, what: 'edit other.mk' }],
    })
  })

  it('leaves out what only looked, and programs that were typed in', () => {
    const script = new Script()
      .run('make', 2, 'error: no rule')
      .run('cat Makefile && git status | head', 0)
      .run("sed -n '1,80p' a.mk", 0)
      .run('const r = await tools.exec("x")', 0)
      .run("@'", 0)
      .run('sed -i s/a/b/ a.mk', 0)
      .run('cat a.mk > b.mk', 0)
      .run('make', 0)
    const [found] = resolutionsOf(script.facts()).values()
    expect(found?.steps.map((step) => step.what)).toEqual(['sed -i s/a/b/ a.mk', 'cat a.mk > b.mk'])
  })

  it.each([
    ['rg -n foo src', 1, '', 0],
    ['cd x && grep foo *.ts', 1, '', 0],
    ['which jq', 1, '', 0],
    ['rg -n foo src', 2, 'rg: unrecognized flag', 1],
    ['rg foo src | sort && make', 1, '', 1],
    ['make', 1, '', 1],
  ])('%s ending with %i and %j is a failure %i times', (command, code, output, count) => {
    const { failures } = new Script().run(command, code, output).facts()
    expect(failures.size).toBe(count)
  })

  it('is absent where nothing succeeded', () => {
    expect(resolutionsOf(new Script().run('make', 2, 'error').run('ls', 0).facts()).size).toBe(0)
  })

  it('of a failing test is a passing one; of a failed edit an edit of the same file', () => {
    expect(
      resolutionsOf(new Script().test('npm test', 1, 'AssertionError: no').test('npx vitest', 0).facts())
        .size,
    ).toBe(1)
    expect(resolutionsOf(new Script().edit('a.ts', 'lines not found').edit('b.ts').facts()).size).toBe(0)
    expect(resolutionsOf(new Script().edit('a.ts', 'lines not found').edit('a.ts').facts()).size).toBe(1)
  })
})

describe('the outcome', () => {
  const begun = (): Script => new Script().prompt('Do it')
  const stepped = (mark: DigestEvent['mark'], summary = ''): Made => ({
    kind: 'human_intervention',
    role: 'user',
    mark,
    summary,
  })

  it('is not changed by what somebody types, whatever it sounds like', () => {
    const facts = begun().answer('Done.').add(stepped(null, '[Request interrupted by user]')).facts()
    expect([outcomeOf(facts).outcome, facts.interrupts.count]).toEqual(['success', 0])
  })

  it.each(['interrupt', 'denied'] as const)('is that of a stop: %s', (mark) => {
    expect(outcomeOf(begun().answer('I will').add(stepped(mark)).facts()).rule).toBe('interrupted')
  })

  it('is that of one turn where a picture stands beside the prompt', () => {
    const question = `${'Which of these do you mean, and in which order do you want them? '.repeat(3)}Or all?`
    const script = begun().prompt('[image: image/png]', { isPart: true }).answer(question)
    expect(outcomeOf(script.facts()).rule).toBe('asks-back')
  })

  const cases: [rule: string, outcome: string, script: Script][] = [
    ['nothing-happened', 'unknown', new Script().add({ summary: 'session began' })],
    ['interrupted', 'abandoned', begun().answer('I will').interrupt()],
    ['cut-off', 'abandoned', begun().answer('I will').add({ mark: 'shutdown', summary: 'shut down' })],
    ['ended-by-error', 'fail', begun().run('ls', 0).add({ kind: 'error', summary: 'request refused' })],
    ['prompt-unanswered', 'abandoned', begun().answer('Done.').prompt('And this?')],
    [
      'call-unfinished',
      'abandoned',
      begun().add({
        kind: 'tool_call',
        role: 'assistant',
        tool: 'shell',
        call: 'c',
        summary: 'shell: sleep',
      }),
    ],
    ['no-closing-answer', 'abandoned', begun().run('ls', 0)],
    ['says-it-could-not', 'fail', begun().run('ls', 0).answer("I couldn't find the file.")],
    [
      'edited-and-answered',
      'success',
      begun().edit('a').test('pytest', 127, 'command not found').run('ls', 0).answer('So it is.'),
    ],
    ['tests-fail-but-done', 'unknown', begun().test('pytest', 1).answer('Done.')],
    ['tests-fail', 'fail', begun().test('pytest', 1).answer('The suite is red.')],
    ['every-call-failed', 'fail', begun().run('make', 2).answer('That is all.')],
    ['tests-pass', 'success', begun().test('pytest', 1).edit('a.py').test('pytest', 0).answer('Green.')],
    [
      'work-kept',
      'success',
      begun().run('git commit -m x', 0, '[main 1a2b3c4] Say why').answer('That is it.'),
    ],
    ['says-it-is-done', 'success', begun().answer('Fixed.')],
    ['announces-more', 'unknown', begun().answer('Starting the slow job.')],
    ['asks-back', 'unknown', begun().answer('Which one?')],
    ['asks-back', 'unknown', begun().run('ls', 0).answer('I looked around. What should I do?')],
    ['answers-in-data', 'unknown', begun().run('ls', 0).answer('{"gates":["north","south"]}')],
    ['call-written-down', 'fail', begun().run('ls', 0).answer('{"query":"latest news"}')],
    ['asks-back', 'unknown', begun().run('ls', 0).answer('I had a look, but I need more details to help.')],
    // What could not be read says nothing of the work.
    [
      'answered',
      'success',
      begun().run('ls', 0).run('cat x', 1, 'cat: x: No such file or directory').answer('Paris.'),
    ],
    [
      'says-it-could-not',
      'fail',
      begun().run('ls', 0).answer("The package has no program, so it can't be run."),
    ],
    ['last-call-failed', 'unknown', begun().run('ls', 0).run('make', 2).answer('The linker is old.')],
    ['says-it-could-not', 'fail', begun().run('ls', 0).answer('No relevant results were returned.')],
    // A search that found nothing is an answer, not a failure.
    ['answered', 'success', begun().run('ls', 0).run('rg foo src', 1).answer('Nobody calls it.')],
    ['edited-and-answered', 'success', begun().edit('a.ts').answer('It says hello.')],
    ['answered', 'success', begun().answer('Paris.')],
  ]
  it.each(cases)('%s: %s', (rule, outcome, script) => {
    expect(outcomeOf(script.facts())).toMatchObject({ rule, outcome })
  })

  it('rests on events that exist', () => {
    for (const [, , script] of cases)
      for (const seq of outcomeOf(script.facts()).seqs) expect(script.events[seq - 1]).toBeDefined()
  })

  it('is not changed by housekeeping after the end, by hooks, or by a sub-agent', () => {
    const done = (): Script => begun().answer('Paris.')
    const command = done().add({ kind: 'human_intervention', role: 'user', summary: '/exit' })
    const hook = done().add({ kind: 'error', mark: 'hook', summary: 'Stop hook failed' })
    const agent = done().run('make', 2, 'error', { isSidechain: true })
    for (const script of [command, hook, agent]) expect(outcomeOf(script.facts()).outcome).toBe('success')
  })

  it('of a test behind a pipe comes from its own count', () => {
    const piped = (output: string) =>
      new Script().test('pytest | tail', 0, output).facts().tests.runs[0]?.verdict
    expect(piped('=== 2 failed, 3 passed ===')).toBe('failed')
    expect(piped('=== 3 passed ===')).toBe('passed')
    expect(piped('0 failed, 3 passed')).toBe('passed')
  })
})

describe('metrics', () => {
  it('shares of buckets, by patterns', () => {
    const shares = bucketShares(
      { mcp__hub__list: 1, Bash: 7 },
      { infra: ['mcp*'], shell: ['bash'], none: [] },
    )
    expect(shares).toEqual({ infra: 0.125, shell: 0.875, none: 0 })
    expect(bucketShares({}, { infra: ['*'] })).toEqual({ infra: 0 })
  })

  it('active time leaves long pauses out', () => {
    const minute = 60_000
    const script = new Script()
    for (const at of [0, 1, 2, 60, 61]) script.add({ ts: at * minute })
    expect(script.facts().activeMs).toBe(3 * minute)
  })
})

describe('files', () => {
  it('an edit tried again after it failed counts as an edit; a command tried again does not', () => {
    const script = new Script()
      .edit('a.ts', 'old text not found')
      .add({
        kind: 'retry',
        role: 'assistant',
        tool: 'patch',
        call: 'again',
        does: 'edit',
        summary: 'patch',
        files: ['a.ts'],
      })
      .add({ kind: 'tool_result', role: 'tool', tool: 'patch', call: 'again', summary: 'done' })
      .run('make', 2)
      .run('make', 0, '', { kind: 'retry', files: ['b.ts'] })
    const edits = [...script.facts().work.files.values()].map((file) => [file.path, file.edits.count])
    expect(edits).toEqual([
      ['a.ts', 1],
      ['b.ts', 0],
    ])
  })
})
