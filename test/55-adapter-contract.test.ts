// Every adapter keeps the contract: those of agents on what the real clients left, those of our own formats on what our
// writers write.
import { cpSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe } from 'vitest'
import { agent as claude } from '../src/adapters/claude/agent.ts'
import { agent as codex } from '../src/adapters/codex/agent.ts'
import { agent as entire } from '../src/adapters/entire/agent.ts'
import { agent as grok } from '../src/adapters/grok/agent.ts'
import { agent as lineage } from '../src/adapters/lineage/agent.ts'
import { agent as run } from '../src/adapters/run/agent.ts'
import { agent as turns } from '../src/adapters/turns/agent.ts'
import { EntireTranscript, RunTranscript, SessionHistory, TranscriptWriter } from '../src/record/index.ts'
import { adapterContract } from './contract/adapter.ts'
import { unpackAgent } from './setup/fixtures.ts'

// What was said is compared more closely in 51 and 52.
const hasOwnGolden = true

const COMMAND = 'a command that the client carries out itself is told, and is no prompt'
const KILLED = 'the client was killed while the tool ran'
const BEGUN = 'of a response that was cut off, the client counts what its beginning said'
const cutOff = (differences: string[]): Record<string, string> =>
  Object.fromEntries(differences.map((one) => [`tokens: ${one}`, BEGUN]))

describe('claude', () =>
  adapterContract({
    adapter: claude,
    clients: ['claude'],
    lost: {
      'claude/compact': { 'prompt: /compact keep the facts': COMMAND },
      'claude/hooks': { 'prompt: /compact': COMMAND },
      'claude/hooks_kill': { 'result: toolu_mock0001x0': KILLED },
      'claude/kill_tool': { 'result: toolu_mock0001x0': KILLED },
      'claude/interrupt': cutOff([
        'input 1001 of 0',
        'cache_read 2001 of 0',
        'cache_write 301 of 0',
        'output 1 of 0',
      ]),
      'claude/mid_error': cutOff([
        'input 2003 of 1002',
        'cache_read 4003 of 2002',
        'cache_write 603 of 302',
        'output 53 of 52',
      ]),
    },
  }))
describe('codex', () =>
  adapterContract({ adapter: codex, clients: ['codex-tui', 'codex-0.80'], hasOwnGolden }))
describe('grok', () => adapterContract({ adapter: grok, clients: ['grok', 'grok-chat'], hasOwnGolden }))

const call = { type: 'tool_use', id: 'call-1', name: 'bash', input: { command: 'npm test' } } as const
const answer = { type: 'tool_result', tool_use_id: 'call-1', content: 'failed', is_error: true } as const

/** One of our own, and one that Entire copied from an agent. */
async function makeEntire(home: string): Promise<void> {
  const transcript = new EntireTranscript({ cwd: home, version: '1', model: 'm-1', flush: 'os' })
  for (let turn = 0; turn < 5; turn++) {
    await transcript.user(`prompt ${turn}`)
    await transcript.assistant(
      [
        { type: 'text', text: 'I look' },
        { ...call, id: `call-${turn}` },
      ],
      {
        usage: { input_tokens: 5, output_tokens: turn },
      },
    )
    await transcript.user([{ ...answer, tool_use_id: `call-${turn}` }])
  }
  const project = join(unpackAgent('claude'), 'tools', '.claude', 'projects', '-home-dev-proj')
  const copied = readdirSync(project).find((name) => name.endsWith('.jsonl')) as string
  const directory = join(home, '.entire', 'metadata', '2026-11-15-copied')
  mkdirSync(directory, { recursive: true })
  cpSync(join(project, copied), join(directory, 'full.jsonl'))
}

async function makeTurns(home: string): Promise<void> {
  const writer = new TranscriptWriter(join(home, '.homeagent'), { flush: 'os' })
  for (let turn = 0; turn < 9; turn++) {
    await writer.append('helper', 's1', {
      turnId: `${turn}`,
      ts: turn,
      role: 'user',
      content: `prompt ${turn}`,
    })
    await writer.append('helper', 's1', {
      turnId: `${turn}`,
      ts: turn,
      role: 'assistant',
      content: 'done',
      toolCalls: [{ id: `c${turn}`, name: 'bash', args: { command: 'npm test' } }],
      toolResults: [{ callId: `c${turn}`, result: 'ok' }],
      metadata: { model: 'm-1', tokens: { prompt: 10, completion: turn } },
    })
  }
  await writer.close()
}

/** One that has ended, and one that is under way. */
async function makeRuns(home: string): Promise<void> {
  for (const flow of ['ended', 'open']) {
    const runId = { flow, identifier: 'TK421', date: '2026-01-15' }
    const transcript = await RunTranscript.start(join(home, '.devflow'), { runId, input: {}, flush: 'os' })
    for (let turn = 0; turn < 4; turn++) {
      await transcript.addTurn('user', `prompt ${turn}`)
      await transcript.addTurn('assistant', 'done', 7)
      await transcript.addToolCall('bash', { command: 'npm test' }, 'ok', { id: `c${turn}` })
    }
    if (flow === 'ended') await transcript.complete()
  }
}

async function makeLineage(home: string): Promise<void> {
  const history = new SessionHistory(join(home, '.ollim-bot'), { flush: 'os' })
  for (const id of ['one', 'two', 'three']) await history.swap(id)
  await history.clear()
}

describe('entire', () => adapterContract({ adapter: entire, make: makeEntire }))
describe('turns', () => adapterContract({ adapter: turns, make: makeTurns }))
describe('run', () => adapterContract({ adapter: run, make: makeRuns }))
describe('lineage', () => adapterContract({ adapter: lineage, make: makeLineage }))
