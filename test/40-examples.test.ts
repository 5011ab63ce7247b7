// The examples run, leave the files they promise, and are what the README shows.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  listRuns,
  loadRun,
  readEntireTranscript,
  SessionHistory,
  TranscriptWriter,
} from '../src/record/index.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { copyTree } from './setup/sweeping.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'recollect-examples-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const runExample = (name: string): string =>
  execFileSync(process.execPath, [`examples/${name}`, directory], { encoding: 'utf8' })
const ANSWER = 'The file says: Milk and bread.'

describe('the agent that records', () => {
  it('turns', async () => {
    const shown = runExample('agent-turns.mjs')
    const turns = await new TranscriptWriter(directory).read('main', 's1')
    expect(turns.map((turn) => turn.role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    expect(turns[1]?.toolCalls).toEqual([{ id: 'toolu_1', name: 'read_file', args: { path: 'notes.txt' } }])
    expect(turns[2]?.toolResults).toEqual([{ callId: 'toolu_1', result: 'Milk and bread.' }])
    expect(turns[3]).toMatchObject({
      content: ANSWER,
      metadata: { model: 'scripted-1', tokens: { completion: 20 } },
    })
    expect(shown).toContain(join(directory, 'agents/main/sessions/s1.jsonl'))
    expect(shown).toContain(ANSWER)
  })

  it('an Entire session', async () => {
    const shown = runExample('agent-entire.mjs')
    const [session] = readdirSync(join(directory, '.entire/metadata')) as [string]
    const at = join(directory, '.entire/metadata', session)
    expect(readdirSync(at).sort()).toEqual(['context.md', 'full.jsonl', 'prompt.txt'])
    const lines = []
    for await (const line of readEntireTranscript(join(at, 'full.jsonl'))) lines.push(line)
    expect(lines.map((line) => line.type)).toEqual(['user', 'assistant', 'user', 'assistant'])
    expect(lines[1]?.message).toMatchObject({
      id: 'msg_1',
      stop_reason: 'tool_use',
      usage: { output_tokens: 20 },
    })
    expect(lines[3]?.message.content).toEqual([{ type: 'text', text: ANSWER }])
    expect(shown).toContain('- **read_file**: notes.txt')
  })

  it('a run', async () => {
    const shown = runExample('agent-run.mjs')
    const [run] = await listRuns(directory)
    const { metadata, turns } = await loadRun(directory, run?.runId as string)
    expect(metadata).toMatchObject({
      flowId: 'read-notes',
      status: 'completed',
      totalTokensOut: 40,
      totalCost: 0.0042,
    })
    expect(turns.map((turn) => turn.role)).toEqual(['user', 'assistant', 'tool_result', 'assistant'])
    expect(turns[1]?.toolCalls).toMatchObject([{ name: 'read_file', output: 'Milk and bread.' }])
    expect(shown).toContain('completed 40 tokens $0.0042')
  })

  it('lineage', async () => {
    const shown = runExample('agent-lineage.mjs')
    const history = new SessionHistory(directory)
    const events = await history.read()
    expect(events.map((event) => event.event)).toEqual(['created', 'bg_fork', 'compacted'])
    const [main, fork, compacted] = events.map((event) => event.session_id)
    expect(events.map((event) => event.parent_session_id)).toEqual([null, main, main])
    expect(await history.current()).toBe(compacted)
    expect(shown).toContain(`├─ ${fork}  bg_fork`)
    expect(shown).toContain(`└─ ${compacted}  compacted`)
  })
})

it('the program that asks the memory tells what the agents did', () => {
  copyTree(join(unpackAgent('claude'), 'fork'), directory)
  const shown = runExample('remember.mjs')
  expect(shown).toMatch(/^[1-9]\d* new events$/m)
  const told = [...shown.matchAll(/^claude:\S+ (\w+) \d+ files (\d+) in its tree$/gm)]
  expect(told.map(([, outcome]) => outcome)).toContain('success')
  expect(Math.max(...told.map(([, , nodes]) => Number(nodes)))).toBeGreaterThan(1)
  expect(shown).toMatch(/^[1-9]\d* tokens, \S+ USD$/m)
  const docs = readFileSync('docs/library.md', 'utf8')
  const [, marked] = readFileSync('examples/remember.mjs', 'utf8').split(/^\/\/ (?:end )?library\n/m)
  expect(docs).toContain(`\`\`\`js\n${marked}\`\`\``)
})

/** `$ command`, on as many lines as it needs, and the answers below it. */
function shellExamples(file: string): { command: string; answers: string[] }[] {
  const blocks = [
    ...readFileSync(file, 'utf8').matchAll(
      /^ *\$ ((?:echo|printf) [\s\S]*?recollect record [^{]*)((?: *\{.*\n)+)/gm,
    ),
  ]
  return blocks.map(([, command = '', answers = '']) => ({ command, answers: answers.trimEnd().split('\n') }))
}

describe.each(['docs/cli.md', 'docs/formats/entire.md', 'docs/formats/run.md', 'docs/formats/lineage.md'])(
  'the examples of the pipe in %s',
  (file) => {
    const all = shellExamples(file)
    it.each(all.map((one) => [one.command.trim().split('\n').at(-1)?.trim(), one] as const))(
      '%s',
      (_, { command, answers }) => {
        const program = `recollect() { "${process.execPath}" "${resolve('dist/cli.cjs')}" "$@"; }\n`
        const stdout = execFileSync('sh', ['-c', program + command], {
          cwd: directory,
          env: { PATH: process.env['PATH'], HOME: directory },
          encoding: 'utf8',
        })
        const told = stdout.trimEnd().split('\n')
        expect(told).toHaveLength(answers.length)
        for (const [n, answer] of answers.entries()) {
          // Some show only the beginning of an answer.
          const shown = JSON.parse(answer.replace(',…}', '}')) as Record<string, unknown>
          const given = JSON.parse(told[n] as string) as Record<string, unknown>
          const isWhole = !answer.includes(',…}')
          if (isWhole) expect(Object.keys(given)).toEqual(Object.keys(shown))
          for (const [name, value] of Object.entries(shown))
            if (typeof value !== 'string') expect(given[name]).toEqual(value)
        }
      },
    )
    it('are found', () => expect(all.length).toBeGreaterThan(file === 'docs/cli.md' ? 3 : 0))
  },
)

describe('the examples', () => {
  const agents = readdirSync('examples').filter((name) => /^agent-.*\.mjs$/.test(name))
  const readme = readFileSync('README.md', 'utf8')

  it('are all run by `npm run examples`', () => {
    const { examples } = JSON.parse(readFileSync('package.json', 'utf8')).scripts as { examples: string }
    expect(agents.filter((name) => !examples.includes(`&& node examples/${name}`))).toEqual([])
  })

  it('stay short enough to read', () => {
    for (const name of agents)
      expect(readFileSync(`examples/${name}`, 'utf8').split('\n').length).toBeLessThan(62)
  })

  it.each([...agents, 'pipe.py'])('%s: its marked part stands in the README as it is', (name) => {
    const text = readFileSync(`examples/${name}`, 'utf8')
    const [, marked] = /^(?:\/\/|#) readme\n(.*?)^(?:\/\/|#) end readme$/ms.exec(text) as unknown as [
      string,
      string,
    ]
    const language = name.endsWith('.py') ? 'python' : 'js'
    expect(readme).toContain(`\`\`\`${language}\n${marked.trimEnd()}\n\`\`\``)
    expect(readme).toContain(`examples/${name}`)
  })

  it('leave no block of code in the README that is not run by a test', () => {
    const blocks = [...readme.matchAll(/^```(\w*)\n/gm)].map(([, language]) => language)
    expect(blocks.filter((language) => language === 'js' || language === 'python')).toHaveLength(
      agents.length + 1,
    )
    expect(blocks.filter((language) => !['js', 'python', 'sh', ''].includes(language as string))).toEqual([])
  })

  it('are named in their README', () => {
    const told = readFileSync('examples/README.md', 'utf8')
    const files = readdirSync('examples').filter((name) => name !== 'README.md')
    expect(files.filter((name) => !told.includes(`\`${name}\``))).toEqual([])
    expect(
      [...told.matchAll(/`([\w-]+\.(?:mjs|py))`/g)].filter(([, name]) => !existsSync(`examples/${name}`)),
    ).toEqual([])
  })
})
