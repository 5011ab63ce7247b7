// Going on with a session: by its agent's own command, or by a briefing for another one.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ADAPTERS } from '../src/adapters/index.ts'
import { resumeCommand } from '../src/adapters/resume.ts'
import { briefing, handedOffFrom, handoffMark, MAX_BRIEFING_BYTES } from '../src/digest/briefing.ts'
import { getDigest } from '../src/digest/patterns.ts'
import { assistant, call, result, text, user, write } from './setup/claude.ts'
import { isHere } from './setup/programs.ts'
import { type CliResult, cli, cliPath, World } from './setup/sweeping.ts'
import { tell } from './setup/told.ts'

const ID = 'aaaaaaaa-1111-4111-8111-111111111111'
const OTHER_ID = 'bbbbbbbb-1111-4111-8111-111111111111'
const UID = `claude:${ID}`
const world = new World()
const repository = join(world.base, 'project')
const programs = join(world.base, 'bin')
const transcript = (id: string): string => join(world.home, '.claude', 'projects', '-project', `${id}.jsonl`)

/** A stand-in for an agent: it writes down how it was called, and ends with 7. */
function standIn(name: string): void {
  writeFileSync(
    join(programs, name),
    `#!/bin/sh\nprintf '%s\\n' "$PWD" "$0" "$@" > ${join(world.base, 'called')}\nexit 7\n`,
  )
  chmodSync(join(programs, name), 0o755)
}
const called = (): string[] => readFileSync(join(world.base, 'called'), 'utf8').trim().split('\n')

const run = (...args: string[]): CliResult =>
  cli({ ...world.env, PATH: `${programs}:${process.env['PATH']}` }, ...args)

beforeAll(async () => {
  mkdirSync(join(repository, '.git'), { recursive: true })
  mkdirSync(programs)
  standIn('claude')
  standIn('codex')
  const fields = { sessionId: ID, cwd: repository }
  const records = [
    user('u1', null, 'Make the parser accept empty files.\nKeep the old tests.', fields),
    assistant('a1', 'u1', [call('t1', 'Bash', { command: 'npm test' })], fields),
    user('r1', 'a1', [result('t1', 'Error: unexpected end of input at parse.ts:14', true)], fields),
    assistant(
      'a2',
      'r1',
      [text('It fails on the end of the input.\nI will look at the tokenizer next.')],
      fields,
    ),
    user('u2', 'a2', 'Yes, go on', fields),
    assistant('a3', 'u2', [text('I have looked at it,\nand it needs another state.')], fields),
  ]
  write(transcript(ID), records)
  await world.sweep()
})

afterAll(() => world.remove())

describe('resume', () => {
  it("runs the agent's own command in the session's directory, and ends as it ends", () => {
    expect(run('resume', ID.slice(0, 6))).toMatchObject({ code: 7, stdout: '' })
    expect(called()).toEqual([realpathSync(repository), join(programs, 'claude'), '--resume', ID])
  })

  it('prints it, and tells it as a document, without starting anything', () => {
    rmSync(join(world.base, 'called'))
    expect(run('resume', ID, '--print').stdout.trim()).toBe(`cd ${repository} && claude --resume ${ID}`)
    expect(JSON.parse(run('resume', ID, '--json').stdout)).toMatchObject({
      session_uid: UID,
      cwd: repository,
      argv: ['claude', '--resume', ID],
    })
    expect(existsSync(join(world.base, 'called'))).toBe(false)
  })

  it('says what is missing: the program, the directory, the session', () => {
    const without = cli({ ...world.env, PATH: '/nowhere' }, 'resume', ID)
    expect(without).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('claude cannot be started [NOT_FOUND]'),
    })
    expect(run('resume')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no session of this repository'),
    })
    expect(run('resume', 'ffff').stderr).toContain('no session ffff')
  })

  it('gives no agent an id that it would take for an option, or a shell for more than a word', () => {
    const { flavor } = ADAPTERS.find((one) => one.resume) as (typeof ADAPTERS)[number]
    expect(resumeCommand(flavor, ID)).toContain(ID)
    for (const id of ['--dangerously-skip-permissions', '-c', '..', '@file', '', 'a b', 'a;b', '$(a)', 'a\n'])
      for (const one of ADAPTERS) expect(resumeCommand(one.flavor, id)).toBeUndefined()
  })

  it('does not try what the agent has deleted', async () => {
    const other = new World()
    const path = join(other.home, '.claude', 'projects', '-p', `${ID}.jsonl`)
    write(path, [user('u1', null, 'hello', { sessionId: ID })])
    await other.sweep()
    rmSync(path)
    await other.sweep()
    const { code, stderr } = cli(other.env, 'resume', ID)
    expect([code, stderr]).toEqual([2, expect.stringMatching(/has deleted its file[\s\S]*recollect handoff/)])
    other.remove()
  })
})

describe('handoff', () => {
  it('tells goal, state, open errors and the next step, each with its events', () => {
    const { stdout } = run('handoff', ID)
    expect(stdout).toContain('> Make the parser accept empty files.\n> Keep the old tests. [#1]')
    expect(stdout).toMatch(/> Yes, go on \[#\d+\]/)
    expect(stdout).toMatch(/> I have looked at it,\n> and it needs another state\. \[#\d+\]/)
    expect(stdout).toMatch(
      /## Errors not known to be fixed\n\n- Bash \[#\d+\]\n {2}> Error: unexpected end of input/,
    )
    expect(stdout).toContain('## Next')
    expect(run('handoff', ID).stdout).toBe(stdout)
  })

  it('tells what was done after an error, and cites files with what changed them', async () => {
    const edit = (file: string) => ({ file_path: file, old_string: 'a', new_string: 'b' })
    const { uid } = tell(
      world.home,
      'brief',
      [
        { ask: 'Mend the lexer.' },
        { tool: 'Read', input: { file_path: '/w/shop/lexer.ts' }, output: 'a' },
        { tool: 'Edit', input: edit('/tmp/notes.md'), output: 'ok' },
        { tool: 'Edit', input: edit('/w/shop/lexer.ts'), output: 'ok' },
        { tool: 'Bash', input: { command: 'make lex' }, output: 'lex: bad token at 7', failed: true },
        { tool: 'Bash', input: { command: 'cat lexer.ts' }, output: 'b' },
      ],
      { model: 'claude-opus-5-5' },
    )
    await world.sweep()
    const { stdout } = run('handoff', uid)
    expect(stdout).toContain('A session of Claude Code with claude-opus-5-5, last active')
    expect(stdout).toContain('- outcome: abandoned: it ended in the middle of the work (likely) [#')
    const [, failed, then] =
      /- Bash \[#(\d+)\]\n {2}> .*bad token.*\n {2}then `Bash: cat lexer.ts` \[#(\d+)\]/.exec(
        stdout,
      ) as unknown as string[]
    expect(Number(then)).toBeGreaterThan(Number(failed))
    const [, lexer, notes] =
      /edits\)\n\n- lexer.ts \(1\) \[#(\d+)\]\n- \/tmp\/notes.md \(1\) \[#(\d+)\]/.exec(
        stdout,
      ) as unknown as string[]
    expect(run('show', `${uid}#${lexer}`).stdout).toContain('Edit')
    expect(Number(notes)).toBeLessThan(Number(lexer))
  })

  it('stays within its bounds, whatever the session holds', () => {
    const digest = world.read((handle) => getDigest(handle, UID))
    const long = '質問 `code` '.repeat(2000)
    const prompts = Array.from({ length: 500 }, (_, seq) => ({ seq, text: long }))
    const files = Array.from({ length: 300 }, (_, i) => ({
      path: `${long.slice(0, 200)}${i}`,
      edits: 3,
      touches: 3,
      seqs: [i],
    }))
    const error_snippets = Array.from({ length: 50 }, () => ({ ...digest.error_snippets[0], sample: long }))
    const full = { ...digest, first_prompt: long, title: long, files, error_snippets } as typeof digest
    const told = briefing({
      digest: full,
      prompts,
      answer: { seq: 9, text: long },
      after: new Map(),
      agent: 'Claude Code',
    })
    expect(Buffer.byteLength(told)).toBeLessThanOrEqual(MAX_BRIEFING_BYTES)
    expect(told).not.toContain('\ufffd')
    for (const heading of ['# Briefing', '## Goal', '## State', '## Next']) expect(told).toContain(heading)
  })

  it('starts the agent that goes on with a file that only its owner reads, and is a part of the lineage', async () => {
    expect(run('handoff', ID, '--to', 'codex', '--exec')).toMatchObject({ code: 7 })
    const [directory, program, prompt] = called()
    expect([directory, program]).toEqual([realpathSync(repository), join(programs, 'codex')])
    const [, path] = /Read (\S+): it is a briefing/.exec(prompt as string) as unknown as [string, string]
    expect(readFileSync(path, 'utf8')).toBe(
      run('handoff', ID, '--json').stdout && JSON.parse(run('handoff', ID, '--json').stdout).briefing,
    )
    expect(statSync(path).mode & 0o777).toBe(0o600)
    // The session that began with it.
    write(transcript(OTHER_ID), [user('x1', null, prompt, { sessionId: OTHER_ID, cwd: repository })])
    await world.sweep()
    const { nodes } = JSON.parse(run('lineage', ID, '--json').stdout) as { nodes: Record<string, unknown>[] }
    expect(nodes).toContainEqual(
      expect.objectContaining({
        session_uid: `claude:${OTHER_ID}`,
        parent_uid: UID,
        edge: expect.objectContaining({ kind: 'handoff' }),
      }),
    )
  })

  it.skipIf(!isHere('script'))(
    'copies nothing that would end a paste where it is pasted',
    async () => {
      const other = new World()
      const path = join(other.home, '.claude', 'projects', '-p', `${OTHER_ID}.jsonl`)
      const asked = 'Mend the parser\u001b[201~; and \u009b31m\u202egnp.exe'
      write(path, [user('u1', null, asked, { sessionId: OTHER_ID })])
      await other.sweep()
      const { stdout } = spawnSync(
        'script',
        ['-qfec', `${process.execPath} ${cliPath} handoff ${OTHER_ID} --copy`, '/dev/null'],
        { env: { PATH: process.env['PATH'], LANG: 'C.UTF-8', ...other.env }, encoding: 'utf8' },
      )
      const copied = stdout.slice(stdout.indexOf(']52;c;') + ']52;c;'.length).split('\u0007', 1)[0] as string
      const text = Buffer.from(copied, 'base64').toString()
      expect(text).toContain('Mend the parser')
      expect(text).not.toMatch(/[\u001b\u009b\u202e]/)
      other.remove()
    },
    30_000,
  )

  it('refuses what cannot be started', () => {
    expect(run('handoff', ID, '--exec')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--exec needs --to'),
    })
    expect(run('handoff', ID, '--to', 'entire', '--exec')).toMatchObject({ code: 2 })
    expect(run('handoff', ID, '--to', 'nobody')).toMatchObject({ code: 2 })
  })

  it('is recognised in a prompt by its mark alone', () => {
    expect(handedOffFrom(`before ${handoffMark(UID)} after`)).toBe(UID)
    expect(handedOffFrom('Handed off from session x by recollect.')).toBeUndefined()
  })
})
