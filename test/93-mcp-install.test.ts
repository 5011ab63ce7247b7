// Registering the server: through the agents' own programs, shown first, once, and undone. The programs are stand-ins
// that print what the real ones print; npm run test:agents uses the real ones.
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { MCP_CLIENTS } from '../src/adapters/mcp.ts'
import { Config } from '../src/config.ts'
import { commandText, serverEntry } from '../src/mcp/register.ts'
import { cli, cliPath, temporary, World } from './setup/sweeping.ts'

const AGENTS = ['claude', 'codex', 'grok']
let world: World
let bin: string

function putProgram(name: string): void {
  writeFileSync(join(bin, name), `#!${process.execPath}\n`)
  const body = readFileSync(join(import.meta.dirname, 'programs', 'fake-agent.mjs'), 'utf8')
  writeFileSync(join(bin, name), `#!${process.execPath}\n${body}`)
  chmodSync(join(bin, name), 0o755)
}

beforeEach(() => {
  world = new World()
  bin = join(world.base, 'bin')
  mkdirSync(bin)
  // Without an ending the programs are modules only by their package.
  writeFileSync(join(bin, 'package.json'), '{"type":"module"}')
  for (const name of AGENTS) putProgram(name)
})

type Plan = { agent: string; action: string; commands: string[]; current: boolean; registered: string | null }
const run = (...args: string[]) => cli({ ...world.env, PATH: bin }, 'mcp', ...args)
const json = (...args: string[]): Plan[] => {
  const { code, stdout, stderr } = run(...args, '--json')
  expect([code, stderr]).toEqual([0, ''])
  return (JSON.parse(stdout) as { agents: Plan[] }).agents
}
const actions = (plans: Plan[]): string[] => plans.map((plan) => plan.action)
const registered = (agent: string): Record<string, unknown> => {
  const file = join(bin, `${agent}.json`)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
}

describe('installing', () => {
  it('is shown first, done once, and undone', () => {
    const planned = json('install', '--dry-run')
    expect(actions(planned)).toEqual(['add', 'add', 'add'])
    expect(AGENTS.map(registered)).toEqual([{}, {}, {}])
    expect(json('install')).toEqual(planned)
    const command = `${process.execPath} ${cliPath} mcp`
    for (const one of json('status')) expect(one).toMatchObject({ current: true, registered: command })
    const before = AGENTS.map(registered)
    expect(actions(json('install'))).toEqual(['none', 'none', 'none'])
    expect(AGENTS.map(registered)).toEqual(before)
    expect(actions(json('uninstall'))).toEqual(['remove', 'remove', 'remove'])
    expect(AGENTS.map(registered)).toEqual([{}, {}, {}])
    expect(actions(json('uninstall'))).toEqual(['none', 'none', 'none'])
  })

  it('hands on where the memory is, since not every agent does', () => {
    expect(run('install').code).toBe(0)
    for (const agent of AGENTS)
      expect(registered(agent)['recollect']).toMatchObject({
        options: ['--env', `RECOLLECT_HOME=${world.memory}`],
      })
  })

  it('replaces what an earlier installation left elsewhere, and touches no other server', () => {
    const other = { command: 'other', args: [], options: [] }
    for (const agent of AGENTS) {
      const old = { command: '/old/node', args: ['/old/cli.js', 'mcp'], options: [] }
      writeFileSync(join(bin, `${agent}.json`), JSON.stringify({ other, recollect: old }))
    }
    expect(run('status').stdout).toContain('registered with another command: /old/node /old/cli.js mcp')
    expect(actions(json('install'))).toEqual(['replace', 'replace', 'replace'])
    for (const agent of AGENTS)
      expect(registered(agent)).toMatchObject({ other, recollect: { command: process.execPath } })
    run('uninstall')
    for (const agent of AGENTS) expect(registered(agent)).toEqual({ other })
  })

  it('tells the command where the program is not there, and does the others', () => {
    rmSync(join(bin, 'codex'))
    const { code, stdout } = run('install')
    expect(code).toBe(0)
    expect(stdout).toContain('codex: not on the PATH; by hand:')
    expect(stdout).toContain(
      `codex mcp add recollect --env RECOLLECT_HOME=${world.memory} -- ${process.execPath} `,
    )
    expect(Object.keys(registered('grok'))).toEqual(['recollect'])
  })

  it('asks only the agents that are named', () => {
    expect(json('install', '--agent', 'grok,claude').map((one) => one.agent)).toEqual(['claude', 'grok'])
    expect(registered('codex')).toEqual({})
    const wrong = run('install', '--agent', 'grock')
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('did you mean grok')])
  })

  it('says what a program that refuses said, and does the others', () => {
    const { code, stdout, stderr } = cli(
      { ...world.env, PATH: bin, FAKE_AGENT_SAYS: 'not today', FAKE_AGENT_EXIT: '3' },
      'mcp',
      'install',
      '--json',
    )
    expect([code, stderr]).toEqual([1, expect.stringContaining('claude did not take it: not today')])
    expect(
      (JSON.parse(stdout) as { agents: { error: string }[] }).agents.map((one) => one.error),
    ).toHaveLength(3)
  })

  it('takes output it does not know for not registered', () => {
    const odd = { ...world.env, PATH: bin, FAKE_AGENT_SAYS: '<html>', FAKE_AGENT_EXIT: '0' }
    const { code, stdout } = cli(odd, 'mcp', 'status', '--json')
    expect(code).toBe(0)
    for (const one of (JSON.parse(stdout) as { agents: Plan[] }).agents) expect(one.current).toBe(false)
  })
})

describe('the command that is registered', () => {
  it('never leads into the cache of npx, and resolves links', () => {
    const directory = join(temporary('npx'), '_npx', 'x')
    mkdirSync(directory, { recursive: true })
    const script = join(directory, 'cli.js')
    copyFileSync(cliPath, script)
    const config = new Config({ env: world.env })
    expect(() => serverEntry(config, {}, script)).toThrow(expect.objectContaining({ code: 'USAGE' }))
    expect(serverEntry(config, {}, cliPath)).toMatchObject({
      command: [process.execPath, cliPath, 'mcp'],
      env: {},
    })
  })

  it('can be pasted into a shell', () => {
    const entry = { name: 'recollect', command: ['/opt/my node', "/it's/cli.js", 'mcp'], env: {} }
    for (const client of MCP_CLIENTS)
      expect(commandText([client.program, ...client.add(entry)])).toContain(
        `recollect -- '/opt/my node' '/it'\\''s/cli.js' mcp`,
      )
  })
})
