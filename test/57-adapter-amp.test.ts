// Amp, of which nobody here has a file: what is known of its format, and the contract.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { agent } from '../src/adapters/amp/agent.ts'
import { adapterContract } from './contract/adapter.ts'
import { eventsIn, itemsAs, itemsOf } from './setup/items.ts'

const ID = 'T-00000000-0000-4000-8000-000000000001'
const FILE = `.local/share/amp/threads/${ID}.json`
const BASE = Date.UTC(2026, 10, 15, 12)
const usage = (model: string, second: number) => ({
  model,
  timestamp: new Date(BASE + second * 1000).toISOString(),
  inputTokens: 10,
  outputTokens: 5,
  cacheCreationInputTokens: 20,
  cacheReadInputTokens: 30,
  totalInputTokens: 60,
})
const call = (id: string, name: string, input: object) => ({ type: 'tool_use', id, name, input })
const result = (toolUseID: string, run: object) => ({ type: 'tool_result', toolUseID, run })
const THREAD = {
  v: 3,
  id: ID,
  created: BASE,
  title: 'Fix the test',
  env: {
    initial: {
      trees: [
        {
          displayName: 'p',
          uri: 'file:///home/dev/my%20p',
          repository: { url: 'https://example.com/p.git', ref: 'refs/heads/main' },
        },
      ],
      platform: { clientVersion: '0.0.1' },
    },
  },
  messages: [
    {
      role: 'user',
      messageId: 0,
      content: [{ type: 'text', text: 'Fix it' }],
      meta: { sentAt: BASE + 1000 },
    },
    {
      role: 'assistant',
      messageId: 1,
      content: [
        { type: 'thinking', thinking: 'hm', signature: 'x' },
        { type: 'text', text: 'I run it.' },
        call('t1', 'Bash', { command: 'npm test' }),
        call('t2', 'edit_file', { path: 'a.js', old_str: 'a', new_str: 'b' }),
        call('t3', 'Bash', { command: 'rm -r x' }),
      ],
      usage: usage('claude-sonnet-4-5', 2),
    },
    {
      role: 'user',
      messageId: 2,
      content: [
        result('t1', { status: 'done', result: { output: '1 failing', exitCode: 1 } }),
        result('t2', { status: 'error', error: { message: 'no such file' } }),
        result('t3', { status: 'rejected-by-user', reason: 'no' }),
      ],
    },
    { role: 'assistant', messageId: 3, content: [], usage: usage('gpt-5', 4), state: { type: 'cancelled' } },
  ],
}

describe('amp', () => {
  it('tells a thread', async () => {
    const items = await itemsOf(agent, { [FILE]: THREAD })
    expect(Object.assign({}, ...itemsAs(items, 'session'))).toMatchObject({
      session: ID,
      cwd: '/home/dev/my p',
      gitBranch: 'main',
      gitRemote: 'https://example.com/p.git',
      title: 'Fix the test',
      startedAt: BASE,
    })
    expect(eventsIn(items).map(({ kind, state, mark, said }) => [kind, state, mark, said])).toEqual([
      ['user_msg', undefined, undefined, 'Fix it'],
      ['thinking', undefined, undefined, 'hm'],
      ['assistant_msg', undefined, undefined, 'I run it.'],
      ['test_run', undefined, undefined, undefined],
      ['edit', undefined, undefined, undefined],
      ['tool_call', undefined, undefined, undefined],
      ['error', 'failed', undefined, '1 failing'],
      ['error', 'failed', undefined, 'no such file'],
      ['human_intervention', 'refused', 'denied', 'no'],
      ['human_intervention', undefined, 'interrupt', undefined],
    ])
    // What was not cached stands elsewhere for models of one maker.
    expect(
      itemsAs(items, 'usage').map(({ input, cacheRead, cacheWrite5m, output }) => [
        input,
        cacheRead,
        cacheWrite5m,
        output,
      ]),
    ).toEqual([
      [10, 30, 20, 5],
      [30, 30, 0, 5],
    ])
    expect(itemsAs(items, 'unknown')).toEqual([])
    // No time is made up for what has none.
    expect(eventsIn(items).find(({ callId, role }) => callId === 't1' && role === 'tool')?.ts).toBe(null)
  })

  it('counts by the ledger where the answers tell nothing, and by one of them only', async () => {
    const usageLedger = {
      events: [
        {
          timestamp: new Date(BASE).toISOString(),
          model: 'm',
          tokens: { input: 7, output: 3 },
          toMessageId: 1,
        },
      ],
    }
    const both = await itemsOf(agent, { [FILE]: { ...THREAD, usageLedger } })
    expect(itemsAs(both, 'usage')).toHaveLength(2)
    const messages = THREAD.messages.map(({ usage: _, ...message }) => message)
    const items = await itemsOf(agent, { [FILE]: { ...THREAD, messages, usageLedger } })
    expect(itemsAs(items, 'usage')).toMatchObject([{ input: 7, output: 3, event: 'm1#0' }])
  })

  adapterContract({
    adapter: agent,
    make: (home) => {
      mkdirSync(join(home, FILE, '..'), { recursive: true })
      writeFileSync(join(home, FILE), JSON.stringify(THREAD))
    },
  })
})
