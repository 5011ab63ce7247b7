// Registering the server in the files of agents whose programs do not do it: shown first, once, and undone to the byte.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { MCP_FILES } from '../src/adapters/mcp.ts'
import { lookAtMcpFile, planMcpAdd, planMcpRemove } from '../src/capture/mcp-file.ts'
import { applySettings } from '../src/capture/settings-file.ts'
import { cli, cliPath, temporary } from './setup/sweeping.ts'

const ENTRY = { name: 'recollect', command: ['/usr/bin/node', '/opt/cli.cjs', 'mcp'], env: {} }
const TEXTS: Record<string, string> = {
  'an empty file': '',
  'no servers': '{"theme": "dark"} // mine\n',
  'no servers yet': '{\n  "mcpServers": {}\n}\n',
  'another server':
    '{\n  "mcpServers": {\n    // keep\n    "linear": {"url": "https://mcp.linear.app/mcp"},\n  },\n  "a": [1,2]\n}\n',
  'a byte order mark': '\ufeff{"mcpServers":{"x":{"command":"x"}}}',
}

describe.each(MCP_FILES.map((one) => [one.flavor, one] as const))('the file of %s', (_, client) => {
  const { key = 'mcpServers' } = client
  const keyed = (text: string): string => text.replaceAll('mcpServers', key)
  const home = (): { env: Record<string, string>; file: string } => {
    const env = { HOME: temporary('mcp') }
    const file = client.file(env)
    mkdirSync(dirname(file), { recursive: true })
    return { env, file }
  }

  it.each(Object.entries(TEXTS))('comes back to the byte: %s', (_, some) => {
    const text = keyed(some)
    const { env, file } = home()
    writeFileSync(file, text)
    applySettings(planMcpAdd(client, ENTRY, env))
    expect(lookAtMcpFile(client, ENTRY, env)).toMatchObject({
      isCurrent: true,
      registered: '/usr/bin/node /opt/cli.cjs mcp',
    })
    expect(planMcpAdd(client, ENTRY, env).action).toBe('none')
    applySettings(planMcpRemove(client, ENTRY, env))
    expect(readFileSync(file, 'utf8')).toBe(text)
    expect(planMcpRemove(client, ENTRY, env).action).toBe('none')
  })

  it('that was not there is gone again; one that was changed keeps the change', () => {
    const { env, file } = home()
    applySettings(planMcpAdd(client, ENTRY, env))
    applySettings(planMcpRemove(client, ENTRY, env))
    expect(existsSync(file)).toBe(false)
    writeFileSync(file, '{"a": 1}')
    applySettings(planMcpAdd(client, { ...ENTRY, command: ['/old/node', '/old/cli.cjs', 'mcp'] }, env))
    const moved = planMcpAdd(client, ENTRY, env)
    expect(moved).toMatchObject({ action: 'replace', registered: '/old/node /old/cli.cjs mcp' })
    applySettings(moved)
    writeFileSync(file, readFileSync(file, 'utf8').replace('"a": 1', '"a": 2'))
    applySettings(planMcpRemove(client, ENTRY, env))
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ a: 2, [key]: {} })
  })

  it.each([
    ['no JSON', '{"mcpServers": oops}'],
    ['a list of servers', '{"mcpServers": []}'],
    ['a key that stands there twice', '{"mcpServers": {}, "mcpServers": {}}'],
  ])('is refused and left as it is where it has %s', (_, some) => {
    const text = keyed(some)
    const { env, file } = home()
    writeFileSync(file, text)
    expect(() => planMcpAdd(client, ENTRY, env)).toThrow(/JSON|object|twice/)
    expect(readFileSync(file, 'utf8')).toBe(text)
  })
})

it('has its command in one list where the agent wants it so, with its variables', () => {
  const [client] = MCP_FILES.filter((one) => one.hasLists) as [(typeof MCP_FILES)[number]]
  const env = { HOME: temporary('mcp') }
  mkdirSync(dirname(client.file(env)), { recursive: true })
  applySettings(planMcpAdd(client, { ...ENTRY, env: { RECOLLECT_HOME: '/m' } }, env))
  expect(JSON.parse(readFileSync(client.file(env), 'utf8'))).toEqual({
    mcp: {
      recollect: {
        type: 'local',
        enabled: true,
        command: ENTRY.command,
        environment: { RECOLLECT_HOME: '/m' },
      },
    },
  })
})

it('stands beside the agents with programs of their own: only where the agent has been, or is named', () => {
  const env = { HOME: temporary('mcp'), PATH: '/nowhere' }
  const agents = (...args: string[]): { agent: string; action: string; current: boolean }[] =>
    (JSON.parse(cli(env, 'mcp', ...args, '--json').stdout) as { agents: [] }).agents
  const [client] = MCP_FILES as [(typeof MCP_FILES)[number]]
  expect(agents('install').map((one) => one.agent)).not.toContain(client.flavor)
  mkdirSync(dirname(client.file(env)), { recursive: true })
  const of = (...args: string[]) => agents(...args).find((one) => one.agent === client.flavor)
  expect(of('install', '--dry-run')).toMatchObject({ action: 'add', current: false })
  expect(existsSync(client.file(env))).toBe(false)
  expect(of('install')?.action).toBe('add')
  expect(readFileSync(client.file(env), 'utf8')).toContain(JSON.stringify(cliPath))
  expect(of('status')).toMatchObject({ current: true })
  expect(agents('uninstall', '--agent', client.flavor)).toMatchObject([{ action: 'remove' }])
  expect(existsSync(client.file(env))).toBe(false)
})
