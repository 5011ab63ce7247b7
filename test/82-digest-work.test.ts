// What a session of Claude Code really did, against what it tried: edits that failed, were refused or were changed by a
// person; commands that went on in the background; commits and pull requests that only the client saw.
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { activeMs, addTime, noTime } from '../src/digest/active.ts'
import type { Digest } from '../src/digest/digest.ts'
import { getDigest } from '../src/digest/patterns.ts'
import { editsOf } from '../src/query/edits.ts'
import { assistant, call, type Fields, result, SESSION, text, user, write } from './setup/claude.ts'
import { Script } from './setup/digest-events.ts'
import { World } from './setup/sweeping.ts'

let world: World
let records: Fields[]
beforeEach(() => {
  world = new World()
  records = [user(uuid(1), null, 'go')]
})
afterEach(() => world.remove())

const uuid = (n: number): string => `${String(n).padStart(8, '0')}-0000-4000-8000-000000000000`
const next = (): [string, string] => [uuid(records.length + 1), uuid(records.length)]
const UID = `claude:${SESSION}`
const NO = "The user doesn't want to proceed with this tool use. The tool use was rejected"

function did(tool: string, input: Fields, said: string, fields: Fields = {}, isError = false): string {
  const id = `t${records.length}`
  records.push(assistant(...next(), [call(id, tool, input)]))
  records.push(user(...next(), [result(id, said, isError)], fields))
  return id
}
const edited = (path: string, said: string, fields: Fields = {}, isError = false) =>
  did('Edit', { file_path: path, old_string: 'a', new_string: 'b' }, said, fields, isError)
const ran = (command: string, said: string, outcome: Fields) =>
  did('Bash', { command }, said, {
    toolUseResult: { stdout: said, stderr: '', interrupted: false, ...outcome },
  })
const background = (command: string, task: string) =>
  ran(command, `Command running in background with ID: ${task}`, { backgroundTaskId: task })
function notified(id: string, task: string, status: string, summary: string): void {
  const notice = `<task-notification><task-id>${task}</task-id><tool-use-id>${id}</tool-use-id><status>${status}</status><summary>${summary}</summary></task-notification>`
  records.push(user(...next(), notice, { origin: { kind: 'task-notification' } }))
}

async function digest(answer = 'All of it stands.'): Promise<Digest> {
  records.push(assistant(...next(), [text(answer)]))
  write(join(world.home, '.claude/projects/-w', `${SESSION}.jsonl`), records)
  await world.sweep()
  return world.read((handle) => getDigest(handle, UID))
}

describe('edits', () => {
  it('count when they were made', async () => {
    edited('/w/failed', 'String to replace not found in file.', {}, true)
    edited('/w/refused', NO, {}, true)
    edited('/w/made', 'The file has been updated.')
    edited('/w/changed', 'The file has been updated.', { toolUseResult: { userModified: true } })
    const told = await digest()
    expect(told.markers).toMatchObject({ edits: 2, denials: 1, interventions: 2, interrupts: 0 })
    expect(told.files.map(({ path, edits, touches }) => [path, edits, touches])).toEqual([
      ['changed', 1, 1],
      ['made', 1, 1],
      ['failed', 0, 1],
      ['refused', 0, 1],
    ])
    expect(told.kind_counts.edit).toBe(4)
    const { files } = world.read((handle) => editsOf(handle, UID))
    expect(files.map(({ path, steps }) => [path, steps.map((step) => step.has_failed)])).toEqual([
      ['/w/failed', [true]],
      ['/w/refused', [true]],
      ['/w/made', [false]],
      ['/w/changed', [false]],
    ])
  })

  it('count once when the second try makes them', async () => {
    edited('/w/a', 'File has not been read yet.', {}, true)
    did('Read', { file_path: '/w/a' }, 'a')
    edited('/w/a', 'The file has been updated.')
    const told = await digest('So it is.')
    expect([told.markers.edits, told.files[0]]).toMatchObject([1, { path: 'a', edits: 1, touches: 3 }])
    expect(told.outcome_detail.rule).toBe('edited-and-answered')
  })

  it('are no reason to call it a success when none was made', async () => {
    edited('/w/a', 'String to replace not found in file.', {}, true)
    did('Read', { file_path: '/w/a' }, 'c')
    expect((await digest('So it is.')).outcome_detail.rule).toBe('answered')
  })

  it('that a person changed do not end the session', async () => {
    edited('/w/a', 'The file has been updated.', { toolUseResult: { userModified: true } })
    records.push({
      type: 'system',
      subtype: 'turn_duration',
      durationMs: 5,
      uuid: next()[0],
      parentUuid: next()[1],
    })
    write(join(world.home, '.claude/projects/-w', `${SESSION}.jsonl`), records)
    await world.sweep()
    const { outcome_detail } = world.read((handle) => getDigest(handle, UID))
    expect(outcome_detail.rule).not.toBe('interrupted')
  })
})

describe('a command in the background', () => {
  const commandsOf = ({ commands }: Digest) =>
    commands.map(({ command, runs, failures, verdict }) => [command, runs, failures, verdict])

  it('has the verdict of its end, and none before', async () => {
    background('make all', 'b1')
    const failing = background('make site', 'b2')
    const passing = background('make docs', 'b3')
    notified(failing, 'b2', 'failed', 'Background command "make site" failed with exit code 2')
    notified(passing, 'b3', 'completed', 'Background command "make docs" completed (exit code 0)')
    const told = await digest()
    expect(commandsOf(told)).toEqual([
      ['make all', 1, 0, 'unknown'],
      ['make site', 1, 1, 'failed'],
      ['make docs', 1, 0, 'passed'],
    ])
  })

  it('says nothing of a later run of the same', async () => {
    const first = background('make', 'b1')
    ran('make', 'made', {})
    notified(first, 'b1', 'failed', 'Background command "make" failed with exit code 2')
    expect(commandsOf(await digest())).toEqual([['make', 2, 1, 'passed']])
  })

  it('that failed after the last answer is not how the session ended', async () => {
    const server = background('npm start', 'b1')
    records.push(assistant(...next(), [text('The server is running.')]))
    notified(server, 'b1', 'failed', 'Background command "npm start" failed with exit code 143')
    write(join(world.home, '.claude/projects/-w', `${SESSION}.jsonl`), records)
    await world.sweep()
    const told = world.read((handle) => getDigest(handle, UID))
    expect([told.outcome, told.outcome_detail.rule]).toEqual(['success', 'answered'])
  })

  it.each([
    [
      '',
      (task: Fields, said: string) =>
        did('TaskOutput', { task_id: 'b1' }, said, { toolUseResult: { retrieval_status: 'success', task } }),
    ],
    [
      ', of which only words are left',
      (_: Fields, said: string) => did('TaskOutput', { task_id: 'b1' }, said),
    ],
  ])('tells its end to who asks%s', async (_, ask) => {
    background('make test', 'b1')
    const task = {
      task_id: 'b1',
      task_type: 'local_bash',
      status: 'completed',
      exitCode: 2,
      output: 'no rule',
    }
    ask(
      task,
      '<retrieval_status>success</retrieval_status>\n\n<task_id>b1</task_id>\n\n<status>completed</status>\n\n<exit_code>2</exit_code>\n\n<output>\nno rule\n</output>',
    )
    const { tests, commands, tool_histogram } = await digest()
    expect(tests).toMatchObject([{ verdict: 'failed', exit_code: 2 }])
    expect(commands).toMatchObject([{ verdict: 'failed', failures: 1 }])
    expect(tool_histogram).toEqual({ Bash: 1, TaskOutput: 1 })
  })

  it('that nobody knows the end of did not fail', async () => {
    const cut =
      "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown.]"
    did('Bash', { command: 'npm test' }, cut, { toolUseResult: cut }, true)
    edited('/w/a', cut, { toolUseResult: cut }, true)
    const told = await digest()
    expect([told.tests[0]?.verdict, told.commands[0]?.verdict]).toEqual(['unknown', 'unknown'])
    expect([told.markers.edits, told.files[0]?.edits, told.error_snippets]).toEqual([0, 0, []])
  })

  it('can be gone on from in the middle', () => {
    const script = new Script()
      .prompt('go')
      .add({
        kind: 'tool_call',
        role: 'assistant',
        tool: 'Bash',
        call: 'c',
        does: 'shell',
        summary: 'Bash: make',
      })
      .add({
        kind: 'tool_result',
        role: 'tool',
        tool: 'Bash',
        call: 'c',
        state: 'background',
        summary: 'Command running in background with ID: 1',
      })
      .add({ kind: 'error', role: 'system', call: 'c', exitCode: 2, summary: 'failed', body: {} })
    expect(script.stepwise()).toEqual(script.facts())
    expect([...script.facts().work.commands.values()]).toMatchObject([{ failures: 1, verdict: 'failed' }])
  })
})

it('tells the end of the process from a person who stops the agent', async () => {
  const stopped = async (fields: Fields): Promise<Digest> => {
    records.push(assistant(...next(), [text('Half a')]))
    records.push(user(...next(), [text('[Request interrupted by user]')], fields))
    write(join(world.home, '.claude/projects/-w', `${SESSION}.jsonl`), records)
    await world.sweep()
    return world.read((handle) => getDigest(handle, UID))
  }
  const ended = await stopped({ interruptedByShutdown: true })
  expect([ended.markers.interrupts, ended.markers.interventions]).toEqual([0, 0])
  expect(ended.outcome_detail.rule).toBe('cut-off')
  const { markers } = await stopped({})
  expect([markers.interrupts, markers.interventions]).toEqual([1, 1])
})

describe('what was kept', () => {
  const URL = 'https://github.com/o/r/pull/42'

  it('is known from the client where the output says nothing', async () => {
    ran('git commit -qm "Say why" && git push -q', '', {
      gitOperation: {
        commit: { sha: 'abc1234', kind: 'committed', branch: 'main' },
        push: { branch: 'main' },
      },
    })
    ran('gh pr create --fill', '', { gitOperation: { pr: { number: 42, url: URL, action: 'created' } } })
    const told = await digest('So it is.')
    expect(told.commits).toEqual([{ sha: 'abc1234', subject: '', seqs: [2, 3] }])
    expect(told.pull_requests).toEqual([{ url: URL, seqs: [4, 5] }])
    expect([told.outcome, told.outcome_detail.rule]).toEqual(['success', 'work-kept'])
  })

  it('is told once where both say it, and tests before it do not hide it', async () => {
    const gitOperation = { commit: { sha: 'abc1234', kind: 'committed' } }
    ran('npm test && git commit -m "Say why"', '[main abc1234] Say why', { gitOperation })
    expect((await digest()).commits).toEqual([{ sha: 'abc1234', subject: 'Say why', seqs: [2, 3] }])
  })

  it.each([
    ['talked about', 'gh pr comment 42', 'commented'],
    ['merged', 'gh pr merge 42 --squash', 'merged'],
  ])('is not a pull request that was only %s', async (_, command, action) => {
    ran(command, '', { gitOperation: { pr: { number: 42, url: URL, action } } })
    expect((await digest()).pull_requests).toEqual([])
  })

  it('is a pull request that the client links while it is opened, not while it is commented on', async () => {
    const linked = async (command: string): Promise<string[]> => {
      ran(command, 'done', {})
      const end = records.pop() as Fields
      records.push(
        { type: 'pr-link', sessionId: SESSION, prUrl: URL, timestamp: '2026-01-02T03:04:05Z' },
        end,
      )
      return (await digest()).pull_requests.map(({ url }) => url)
    }
    expect(await linked('gh pr comment 42 --body-file -')).toEqual([])
    expect(await linked('gh pr merge 42')).toEqual([])
    expect(await linked('gh pr create --fill')).toEqual([URL])
  })
})

describe('what a person did', () => {
  const command = (name: string, args = '') =>
    `<command-message>${name.slice(1)}</command-message>\n<command-name>${name}</command-name>\n<command-args>${args}</command-args>`
  const output = '<local-command-stdout>ok</local-command-stdout>'
  const stopped = '[Request interrupted by user for tool use]'

  it('is a turn where a command set off work, and nothing where it did not', async () => {
    records = [user(uuid(1), null, command('/model', 'opus'))]
    records.push(user(...next(), output))
    const words = 'the parser, '.repeat(60)
    records.push(user(...next(), command('/fix', words)))
    records.push(user(...next(), 'Fix what is named.', { isMeta: true }))
    edited('/w/a', 'The file has been updated.')
    const told = await digest()
    expect(told.cost.turns).toBe(1)
    expect(told.markers.interventions).toBe(0)
    expect(told.kind_counts).toMatchObject({ user_msg: 1, completion: 1 })
    expect(told.kind_counts.human_intervention).toBeUndefined()
    // The marks that the client puts around a command are no part of it.
    expect(told.first_prompt).toBe(`/fix ${words.trim()}`)
    expect(told.outcome_detail.rule).toBe('edited-and-answered')
  })

  it('is one intervention where a refusal, those beside it and its interrupt are one deed', async () => {
    records.push(
      assistant(...next(), [call('t1', 'Bash', { command: 'a' }), call('t2', 'Bash', { command: 'b' })]),
    )
    records.push(user(...next(), [result('t1', NO, true)]))
    records.push(user(...next(), [result('t2', NO, true)]))
    records.push(user(...next(), [text(stopped)]))
    records.push(user(...next(), [text(stopped)]))
    records.push(user(...next(), 'not like that'))
    edited('/w/refused', NO, {}, true)
    const { markers, cost, evidence } = await digest()
    expect(markers).toMatchObject({ interventions: 2, denials: 3, interrupts: 2 })
    expect(cost.turns).toBe(2)
    expect(evidence['interventions']).toHaveLength(2)
  })

  it('is no intervention where it answered a question, let a plan be, or changed the mode', async () => {
    did('AskUserQuestion', { questions: [] }, 'User has answered your questions: yes')
    did('ExitPlanMode', { plan: 'x' }, 'User has approved your plan.')
    for (const permissionMode of ['plan', 'default'])
      records.push({ type: 'permission-mode', permissionMode, sessionId: SESSION })
    const { markers, kind_counts } = await digest()
    expect([markers.interventions, markers.decisions]).toEqual([0, 0])
    expect(kind_counts).toMatchObject({ tool_call: 2, tool_result: 2 })
  })

  it('is told the same however often the transcript was looked at while it grew', async () => {
    records = [user(uuid(1), null, command('/fix'))]
    records.push(user(...next(), 'Fix it.', { isMeta: true }))
    records.push(assistant(...next(), [text('Looking')]))
    edited('/w/a', 'The file has been updated.')
    records.push(assistant(...next(), [text('Done')]))
    records.push(user(...next(), 'thanks'))
    const all = records
    for (let length = 1; length <= all.length; length++) {
      write(join(world.home, '.claude/projects/-w', `${SESSION}.jsonl`), all.slice(0, length))
      await world.sweep()
    }
    const grown = await digest()
    const fresh = new World()
    write(join(fresh.home, '.claude/projects/-w', `${SESSION}.jsonl`), records)
    await fresh.sweep()
    const once = fresh.read((handle) => getDigest(handle, UID))
    fresh.remove()
    for (const told of [grown, once]) {
      expect(told.cost).toMatchObject({ turns: 2 })
      expect(told.first_prompt).toBe('/fix')
      expect(told.kind_counts).toEqual({
        assistant_msg: 3,
        user_msg: 2,
        completion: 2,
        edit: 1,
        lifecycle: 1,
        tool_result: 1,
      })
    }
    expect(grown.event_count).toBe(once.event_count)
    expect(grown.outcome).toBe(once.outcome)
  })
})

it('active time is never longer than from the first event to the last, in whatever order they come', () => {
  const minutes = fc.array(fc.integer({ min: 0, max: 5000 }), { minLength: 1, maxLength: 60 })
  fc.assert(
    fc.property(minutes, (times) => {
      const active = (of: number[]): number => {
        const state = noTime()
        for (const at of of) addTime(state, at * 60_000)
        return activeMs(state)
      }
      const inOrder = [...times].sort((a, b) => a - b)
      const pauses = inOrder.slice(1).map((at, i) => at - (inOrder[i] as number))
      const expected = pauses.filter((pause) => pause <= 5).reduce((sum, pause) => sum + pause, 0)
      expect(active(times)).toBe(expected * 60_000)
      expect(active(times)).toBeLessThanOrEqual(
        ((inOrder.at(-1) as number) - (inOrder[0] as number)) * 60_000,
      )
    }),
  )
})
