// What a session is called: named, or made of what was asked; and which conversations are beside the work.
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Digest } from '../src/digest/digest.ts'
import { getDigest } from '../src/digest/patterns.ts'
import { isBareCommand, isTelling, pointedTo, requestIn, topicOfBranch } from '../src/digest/title.ts'
import { listSessions } from '../src/query/sessions.ts'
import { assistant, call, type Fields, result, SESSION, text, user, write } from './setup/claude.ts'
import { World } from './setup/sweeping.ts'

describe('the request in a prompt', () => {
  it.each<[string, string, string]>([
    ['one line', 'Mend the gate.', 'Mend the gate.'],
    ['a heading', '# Mend the gate\n\nIt squeaks.', 'Mend the gate'],
    ['a plan', 'Implement the following plan:\n\n# Plan: Mend the gate\n\n## Context', 'Mend the gate'],
    ['a link to a skill', '[$carpentry](C:\\skills\\c.md) mend the gate', 'mend the gate'],
    ['a link alone', '[$carpentry](C:\\skills\\c.md)', '[$carpentry]'],
    [
      'a template with a field',
      '::: WORK PROMPT (AGENT 2: GATES) :::\n\n**YOUR ROLE:** smith\n**TASK:** Mend the gate in `yard.ts`.',
      'Mend the gate in `yard.ts`. · WORK PROMPT (AGENT 2: GATES)',
    ],
    [
      'a template with a section',
      '# PROMPT: AGENT 1\n## YOUR IDENTITY\nYou are a smith.\n## YOUR SPECIFIC TASK\nDo the following:\n### Task 1: Mend the gate of the yard',
      'Mend the gate of the yard · PROMPT: AGENT 1',
    ],
    [
      'a form',
      '\n## User Input\n\n```text\nMend the gate of the yard\n```\n\n## Outline\n',
      'Mend the gate of the yard',
    ],
    [
      'a form, in a long line that holds the words of one',
      `## User Input\n\n\`\`\`text\n${'Mend the gate of the yard, whose role is to keep the prompt geese in. '.repeat(2)}\n\`\`\`\nYou MUST consider it`,
      'Mend the gate of the yard, whose role is to keep the prompt geese in. Mend the gate of the yard, whose role is to keep the prompt geese in.',
    ],
    [
      'a command with its output',
      '`target/yard -- --prompt hi`\n[yard] {"event":"x"}',
      '`target/yard -- --prompt hi`',
    ],
    [
      'a template that is announced',
      'Do the following now\n\n::: WORK PROMPT (AGENT 1) :::\n**TASK:** Mend the gate in `yard.ts`.',
      'Mend the gate in `yard.ts`. · WORK PROMPT (AGENT 1)',
    ],
    ['a program that marks its fields', '[[ ## user_query ## ]]\nMend the gate', 'Mend the gate'],
    [
      'a request about what follows',
      'Look into this using the manual\n\nSummary\nThe gate of the yard squeaks in the wind.',
      'Look into this using the manual · The gate of the yard squeaks in the wind.',
    ],
    ['a short line', 'user\nmend the gate of the yard', 'user mend the gate of the yard'],
    ['an announcement', 'For the smith:\nMend the gate.', 'For the smith: Mend the gate.'],
    [
      'output before the question',
      'error[E0001]: no gate\n  --> yard.rs:1\ncan you mend this gate please',
      'can you mend this gate please',
    ],
    ['output behind the question', 'mend this gate please\nerror[E0001]: no gate', 'mend this gate please'],
    [
      'a page of a tracker',
      `Inbox\n${'a\n'.repeat(20)}#12 [draft] Fix: Mend the gate of the yard\n${'b\n'.repeat(20)}do this`,
      'Fix: Mend the gate of the yard',
    ],
    [
      'what follows a paste whose lines end in carriage returns',
      'test gate ... FAILED\rerror: test failed\r   = note: see above\rcan you mend the gate',
      'can you mend the gate',
    ],
    [
      'a paste that nothing follows',
      'test gate ... FAILED\nassertion failed in the long middle\nwarning: build failed',
      'test gate ... FAILED assertion failed in the long middle warning: build failed',
    ],
  ])('stands in %s', (_, prompt, request) => expect(requestIn(prompt)).toBe(request))

  it('is one line and bounded', () => {
    const request = requestIn(`mend ${'the gate '.repeat(100)}`)
    expect(request.length).toBeLessThanOrEqual(140)
    expect(request).toMatch(/(?:the|gate)…$/)
  })

  it('tells something or not', () => {
    for (const one of ['hi', '/', 'ls', 's', '', 'test gate ... FAILED'])
      expect([one, isTelling(one)]).toEqual([one, false])
    for (const one of ['mend the gate', '/review', '检查目前项目的设计'])
      expect([one, isTelling(one)]).toEqual([one, true])
    expect(['/review', '/mend 12', '/mend --gate 12 src/yard.ts'].every(isBareCommand)).toBe(true)
    expect(['/mend the old gate', '/mend — Mend a gate', 'mend 12'].some(isBareCommand)).toBe(false)
  })

  it('is looked for in the branch last', () => {
    expect(topicOfBranch('work/mend-old-gate-02-28-0923')).toBe('mend old gate')
    expect(['main', 'master', 'v2'].map(topicOfBranch)).toEqual([undefined, undefined, undefined])
  })
})

describe('a session', () => {
  let world: World
  let records: Fields[]
  beforeEach(() => {
    world = new World()
    records = []
  })
  afterEach(() => world.remove())

  const uuid = (n: number): string => `${String(n).padStart(8, '0')}-0000-4000-8000-000000000000`
  const next = (): [string, string | null] => [
    uuid(records.length + 1),
    records.length ? uuid(records.length) : null,
  ]
  const asked = (prompt: string): number =>
    records.push(user(...next(), prompt, { gitBranch: 'work/mend-old-gate' }))
  const command = (name: string, args: string): void => {
    asked(
      `<command-message>${name}</command-message>\n<command-name>/${name}</command-name>\n<command-args>${args}</command-args>`,
    )
    records.push(user(...next(), `# /${name}\n\nDo it.`, { isMeta: true }))
  }
  function did(tool: string, input: Fields, said: string): void {
    const id = `t${records.length}`
    records.push(assistant(...next(), [call(id, tool, input)]))
    records.push(user(...next(), [result(id, said)]))
  }
  async function digest(answer = 'So it is.'): Promise<Digest> {
    if (answer) records.push(assistant(...next(), [text(answer)]))
    write(join(world.home, '.claude/projects/-w', `${SESSION}.jsonl`), records)
    await world.sweep()
    return world.read((handle) => getDigest(handle, `claude:${SESSION}`))
  }
  const named = async (): Promise<[string, string]> => {
    const { title, title_source } = await digest('')
    const [listed] = world.read((handle) => listSessions(handle))
    expect([listed?.title, listed?.title_source]).toEqual([title, title_source])
    return [title, title_source]
  }

  it('is called what its first telling prompt asks for', async () => {
    asked('hi')
    records.push(assistant(...next(), [text('Hello.')]))
    asked('Mend the gate.\nIt squeaks.')
    expect(await named()).toEqual(['Mend the gate.', 'prompt'])
  })

  it('tells the first prompt whole', async () => {
    asked('Mend the gate.\n\nIt squeaks.')
    expect((await digest()).first_prompt).toBe('Mend the gate.\n\nIt squeaks.')
  })

  it('is called after the plan that its command read', async () => {
    command('implement', '12')
    did('Read', { file_path: '/w/docs/post-plan-check.md' }, '1→# Checks')
    did('Read', { file_path: '/w/.plans/plan.md' }, '1→# Plan: Mend the gate\n2→')
    expect(await named()).toEqual(['/implement 12: Mend the gate', 'plan'])
  })

  it('is called after the heading of the file that it was pointed to', async () => {
    asked('Read & execute `notes/JOB.md`')
    did('Read', { file_path: '/w/notes/OTHER.md' }, '1→# Another job')
    did('Read', { file_path: '/w/notes/JOB.md' }, '1→# Mend the gate\n2→')
    expect(await named()).toEqual(['Read & execute `notes/JOB.md`: Mend the gate', 'plan'])
    expect(['C:\\w\\JOB.md', 'see JOB.md', 'Change JOB.md'].map(pointedTo)).toEqual([
      'C:\\w\\JOB.md',
      undefined,
      undefined,
    ])
  })

  it('is called after what a plan without a heading is for', async () => {
    command('implement', '12')
    did(
      'Read',
      { file_path: '/w/.plans/plan.md' },
      '1→_To be filled._\n2→\n3→**Prompt:** mend the gate of the yard',
    )
    expect(await named()).toEqual(['/implement 12: mend the gate of the yard', 'plan'])
  })

  it('that goes on with something unsaid is called after its branch', async () => {
    asked('recover and keep going')
    expect(await named()).toEqual(['recover and keep going: mend old gate', 'branch'])
  })

  it('is called after what it committed, and the request it was about', async () => {
    command('address', '--pr 12')
    did('Bash', { command: 'gh pr view 11 --json title' }, '{"title": "Another gate", "number": 11}')
    did('Bash', { command: 'gh pr view 12 --json title' }, '{"title": "A new gate", "number": 12}')
    did('Bash', { command: 'git commit -am x' }, '[main 1a2b3c4] Oil the hinges\n 1 file changed')
    expect(await named()).toEqual(['/address --pr 12: Oil the hinges · A new gate', 'commit'])
  })

  it('is called after its branch where nothing else tells', async () => {
    command('go', '')
    for (const record of records) record['gitBranch'] = 'work/mend-old-gate'
    records.push(assistant(...next(), [text('Gone.')], { gitBranch: 'work/mend-old-gate' }))
    expect(await named()).toEqual(['/go: mend old gate', 'branch'])
  })

  it('is what somebody called it', async () => {
    asked('Mend the gate.')
    records.push({ type: 'custom-title', customTitle: 'The gate', sessionId: SESSION })
    expect(await named()).toEqual(['The gate', 'person'])
  })

  it.each([
    ['title', 'Generate a concise title (20-40 characters) for this task.\n\nTask: mend the gate'],
    ['warm-up', 'Warmup'],
  ])('beside the work (%s) is left out of lists, and counted', async (kind, prompt) => {
    asked(prompt)
    expect((await digest('The gate')).helper).toBe(kind)
    expect(world.read((handle) => listSessions(handle))).toEqual([])
    expect(world.read((handle) => listSessions(handle, { withSubagents: true }))).toMatchObject([
      { is_helper: true },
    ])
  })

  it('that makes a title for a thing of its own is work', async () => {
    asked('Write a title for the page in index.html.')
    expect((await digest('Done.')).helper).toBeNull()
  })
})
