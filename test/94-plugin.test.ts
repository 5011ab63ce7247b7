// The plugin folder: what agents read of it fits together, and it starts whatever is installed, or keeps quiet. The agents'
// own validators are run by npm run test:agents, which needs the agents.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, it } from 'vitest'
import { INTEGRATIONS } from '../src/adapters/integrations.ts'
import { cliPath, temporary, World } from './setup/sweeping.ts'

const ROOT = join(import.meta.dirname, '..')
const PLUGIN = join(ROOT, 'plugin')
type Json = Record<string, unknown>
const json = (path: string): Json => JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as Json
const { version, name } = json('package.json') as { version: string; name: string }

interface Server {
  command: string
  args: string[]
  cwd?: string
}
const serverIn = (path: string): Server =>
  (json(path)['mcpServers'] as Record<string, Server>)['recollect'] as Server
const hooks = json('plugin/hooks/hooks.json')['hooks'] as Record<
  string,
  { hooks: { type: string; command: string; timeout: number }[] }[]
>

describe('the manifests', () => {
  it('name one plugin, in the version of the package', () => {
    const [listed] = json('.claude-plugin/marketplace.json')['plugins'] as { source: string }[]
    expect(listed).toMatchObject({ name, version, source: './plugin' })
    for (const path of ['plugin/.claude-plugin/plugin.json', 'plugin/.codex-plugin/plugin.json'])
      expect(json(path)).toMatchObject({ name, version, license: json('package.json')['license'] })
  })

  it('name files that exist', () => {
    const {
      skills,
      hooks: hookFile,
      mcpServers,
    } = json('plugin/.codex-plugin/plugin.json') as Record<string, string>
    for (const path of [skills, hookFile, mcpServers, '.mcp.json', 'skills/recall/SKILL.md'])
      expect([path, existsSync(join(PLUGIN, path as string))]).toEqual([path, true])
    // The default places are read by themselves; named again they would be read twice.
    expect(Object.keys(json('plugin/.claude-plugin/plugin.json'))).not.toContain('hooks')
  })

  it('start the same program everywhere', () => {
    expect(serverIn('plugin/.mcp.json')).toEqual({
      command: 'node',
      args: [`\${CLAUDE_PLUGIN_ROOT}/recollect.cjs`, 'mcp'],
    })
    expect(serverIn('plugin/codex.mcp.json')).toEqual({
      command: 'node',
      args: ['./recollect.cjs', 'mcp'],
      cwd: '.',
    })
    const handlers = Object.values(hooks).flatMap((groups) => groups.flatMap((group) => group.hooks))
    expect(new Set(handlers.map((one) => one.command))).toEqual(
      new Set([`node "\${CLAUDE_PLUGIN_ROOT}/recollect.cjs" hook`]),
    )
    for (const one of handlers) expect(one.timeout).toBeLessThanOrEqual(5)
  })

  it('hook the events that recollect hooks install hooks', () => {
    const agents = INTEGRATIONS.filter(({ flavor }) => ['claude', 'codex', 'grok'].includes(flavor))
    expect(agents).toHaveLength(3)
    for (const { hooks: facts } of agents) expect(Object.keys(hooks)).toEqual([...facts.events])
  })

  it('have a skill as agentskills.io wants it', () => {
    for (const skill of readdirSync(join(PLUGIN, 'skills'))) {
      const text = readFileSync(join(PLUGIN, 'skills', skill, 'SKILL.md'), 'utf8')
      const [, head = ''] = /^---\n(.*?)\n---\n/s.exec(text) ?? []
      const [, given] = /^name: (.+)$/m.exec(head) ?? []
      const [, description = ''] = /^description: (.+)$/m.exec(head) ?? []
      expect(given).toBe(skill)
      expect(skill.length).toBeLessThanOrEqual(64)
      expect(description.length).toBeLessThanOrEqual(1024)
      expect(description).toContain('Use when')
    }
  })
})

/** The folder alone, as agents copy it, with or without the program on the PATH. */
function copied(isInstalled: boolean): { script: string; env: Record<string, string>; world: World } {
  const base = temporary('plugin')
  cpSync(PLUGIN, join(base, 'plugin'), { recursive: true })
  const bin = join(base, 'bin')
  mkdirSync(bin)
  if (isInstalled) symlinkSync(cliPath, join(bin, 'recollect'))
  const world = new World()
  return { script: join(base, 'plugin', 'recollect.cjs'), env: { ...world.env, PATH: bin }, world }
}

describe('a hook of the plugin', () => {
  const input = JSON.stringify({
    hook_event_name: 'Stop',
    session_id: 's',
    transcript_path: '/nowhere.jsonl',
  })

  it('reaches the installed handler, silently', () => {
    const { script, env, world } = copied(true)
    // An event that only tests send: no sweep is started.
    const done = spawnSync(process.execPath, [script, 'hook'], {
      env,
      input: input.replace('"Stop"', '"RecollectTest"'),
      encoding: 'utf8',
    })
    expect([done.status, done.stdout, done.stderr]).toEqual([0, '', ''])
    expect(
      readFileSync(
        join(world.memory, 'spool', readdirSync(join(world.memory, 'spool'))[0] as string),
        'utf8',
      ),
    ).toContain('RecollectTest')
  })

  it('does nothing, silently, where nothing is installed, or half of it, or only a project says so', () => {
    const { script, env } = copied(false)
    const project = temporary('plugin')
    for (const name of ['recollect', 'cli.cjs']) writeFileSync(join(project, name), '')
    writeFileSync(join(project, 'recollect-hook.cjs'), 'console.log("ran"); throw new Error("broken")')
    const run = (PATH: string) =>
      spawnSync(process.execPath, [script, 'hook'], {
        cwd: project,
        env: { ...env, PATH },
        input,
        encoding: 'utf8',
      })
    for (const path of [env['PATH'], '', `:${env['PATH']}`, '.'])
      expect(run(path as string)).toMatchObject({ status: 0, stdout: '', stderr: '' })
    expect(run(project)).toMatchObject({ status: 0, stdout: 'ran\n', stderr: '' })
  })
})

describe('the server of the plugin', () => {
  it('is the installed one', async () => {
    const { script, env } = copied(true)
    const client = new Client({ name: 'test', version: '1' })
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [script, 'mcp'],
      env,
      stderr: 'ignore',
    })
    await client.connect(transport)
    const { tools } = await client.listTools()
    expect(tools.map((tool) => tool.name)).toContain('search')
    await client.close()
  })

  it('says what to install where nothing is', () => {
    const { script, env } = copied(false)
    const done = spawnSync(process.execPath, [script, 'mcp'], { env, input: '', encoding: 'utf8' })
    expect([done.status, done.stdout, done.stderr]).toEqual([
      1,
      '',
      expect.stringContaining('npm install -g'),
    ])
  })
})
