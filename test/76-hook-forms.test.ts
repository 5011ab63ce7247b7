// Hooks that do not stand in groups: in a file of our own, in TOML, in a module, and as a script. What goes in comes out again, to the byte.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parse as parseToml } from 'smol-toml'
import { describe, expect, it } from 'vitest'
import type { Integration } from '../src/adapters/integration.ts'
import { INTEGRATIONS } from '../src/adapters/integrations.ts'
import { formOf } from '../src/capture/hook-forms.ts'
import { applyPlan, makeHandler, planInstall, planUninstall } from '../src/capture/hooks.ts'
import type { Handler } from '../src/capture/settings.ts'
import { cli, cliPath, temporary } from './setup/sweeping.ts'

const script = join(cliPath, '..', 'recollect-hook.cjs')
const agentWith = (form: string): Integration =>
  INTEGRATIONS.find(({ hooks }) => hooks.form === form) as Integration

function home(agent: Integration): { env: Record<string, string>; file: string; handler: Handler } {
  const env = { HOME: temporary('hooks') }
  const file = agent.hooks.file(env)
  mkdirSync(join(file, '..'), { recursive: true })
  return { env, file, handler: makeHandler(env, script) }
}

describe('tables', () => {
  const agent = agentWith('tables')
  const MINE = '[[hooks]]\nevent = "Stop"\ncommand = "./mine.sh" # mine\n'
  const TEXTS: Record<string, string> = {
    'an empty file': '',
    'other settings': 'default_model = "k2"\n\n[providers.mock]\ntype = "anthropic" # keep\n',
    'no newline at the end': '[a]\nb = 1',
    'hooks of a person': `a = 1\n\n${MINE}\n[b]\nc = [1, 2]\n`,
    'hooks of a person at the end': MINE,
  }

  it.each(Object.entries(TEXTS))('come back to the byte: %s', (_, text) => {
    const { env, file, handler } = home(agent)
    writeFileSync(file, text)
    applyPlan(planInstall(agent, env, handler))
    const installed = readFileSync(file, 'utf8')
    const ours = formOf(agent.hooks).find(installed, file)
    expect(ours.map((one) => one.event)).toEqual(agent.hooks.events)
    expect(
      (parseToml(installed)['hooks'] as object[]).every((one) => 'event' in one && 'command' in one),
    ).toBe(true)
    applyPlan(planInstall(agent, env, handler))
    expect(readFileSync(file, 'utf8')).toBe(installed)
    applyPlan(planUninstall(agent, env))
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  it('keep what a person wrote meanwhile, before and behind them', () => {
    const { env, file, handler } = home(agent)
    writeFileSync(file, 'a = 1\n')
    applyPlan(planInstall(agent, env, { ...handler, timeout: 9 }))
    writeFileSync(file, `${readFileSync(file, 'utf8').replace('a = 1', 'a = 2')}\n[b]\nc = 3\n`)
    applyPlan(planInstall(agent, env, handler))
    expect(formOf(agent.hooks).find(readFileSync(file, 'utf8'), file)).toHaveLength(agent.hooks.events.length)
    applyPlan(planUninstall(agent, env))
    expect(parseToml(readFileSync(file, 'utf8'))).toEqual({ a: 2, b: { c: 3 } })
  })

  it.each([
    ['no TOML', 'a = = 1\n', /not valid TOML/],
    ['a list that cannot be added to', 'hooks = []\n', /not valid TOML|edited safely/],
  ])('refuse %s, and change nothing', (_, text, message) => {
    const { env, file, handler } = home(agent)
    writeFileSync(file, text)
    expect(() => planInstall(agent, env, handler)).toThrow(message)
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  it('that a person changed are theirs', () => {
    const { env, file, handler } = home(agent)
    applyPlan(planInstall(agent, env, handler))
    writeFileSync(file, readFileSync(file, 'utf8').replace('timeout', 'matcher = "x"\ntimeout'))
    applyPlan(planUninstall(agent, env))
    expect(formOf(agent.hooks).find(readFileSync(file, 'utf8'), file)).toHaveLength(1)
  })
})

describe('lists', () => {
  const agent = agentWith('lists')

  it('stand in a file of our own, which goes with its directory', () => {
    const { env, file, handler } = home(agent)
    applyPlan(planInstall(agent, env, handler))
    const { version, hooks } = JSON.parse(readFileSync(file, 'utf8')) as Record<
      string,
      Record<string, unknown>
    >
    expect(version).toBe(1)
    expect(Object.keys(hooks as object)).toEqual(agent.hooks.events)
    applyPlan(planInstall(agent, env, { ...handler, timeout: 9 }))
    applyPlan(planInstall(agent, env, handler))
    applyPlan(planUninstall(agent, env))
    expect(existsSync(join(file, '..'))).toBe(false)
  })

  it('of others in it are refused', () => {
    const { env, file, handler } = home(agent)
    const text = '{"version": 1, "hooks": {"agentStop": [{"type": "command", "bash": "./mine.sh"}]}}'
    writeFileSync(file, text)
    expect(() => planInstall(agent, env, handler)).toThrow(/of others/)
    expect(readFileSync(file, 'utf8')).toBe(text)
  })
})

describe('a plugin', () => {
  const agent = agentWith('plugin')
  it('runs the handler when a session goes on, and nothing else', async () => {
    const { env, file, handler } = home(agent)
    // As an agent would run it: without the rest of our settings, and without a sweep.
    const command = handler.command.replace(script, join(env['HOME'] as string, 'recollect-hook.cjs'))
    writeFileSync(
      join(env['HOME'] as string, 'recollect-hook.cjs'),
      `let text = ''; process.stdin.on('data', (more) => { text += more }).on('end', () => require('node:fs').writeFileSync(${JSON.stringify(join(env['HOME'] as string, 'told'))}, JSON.stringify([process.argv.slice(2), JSON.parse(text)])))`,
    )
    applyPlan(planInstall(agent, env, { ...handler, command }))
    const module = (await import(pathToFileURL(file).href)) as {
      Recollect: () => Promise<{ event: (input: object) => Promise<void> }>
    }
    const { event } = await module.Recollect()
    await event({ event: { type: 'message.updated', properties: { sessionID: 'ses_a' } } })
    await event({ event: { type: 'session.idle', properties: { sessionID: 'ses_a' } } })
    const told = join(env['HOME'] as string, 'told')
    await expect.poll(() => existsSync(told) && readFileSync(told, 'utf8')).toBeTruthy()
    const [args, said] = JSON.parse(readFileSync(told, 'utf8')) as [string[], object]
    expect(said).toEqual({ hook_event_name: 'session_idle', session_id: 'ses_a' })
    expect(args.join()).toContain(agent.flavor)
  })
})

describe('a script', () => {
  const agent = agentWith('script')
  it('hands on to the handler what the agent says, and whose hook it is', () => {
    const { env, file, handler } = home(agent)
    const told = join(env['HOME'] as string, 'recollect-hook.cjs')
    writeFileSync(told, 'process.stdin.pipe(process.stdout); console.log(process.argv.slice(2).join())')
    const command = handler.command.replace(script, told)
    applyPlan(planInstall(agent, env, { ...handler, command }))
    const input = JSON.stringify({ hookName: 'agent_end', taskId: 't' })
    const said = execFileSync('sh', [file], { input, encoding: 'utf8' })
    expect(said).toContain(agent.flavor)
    expect(said).toContain(input)
  })
})

it.each(['plugin', 'script'])('a %s is a file of our own, which goes with its directory', (form) => {
  const agent = agentWith(form)
  const { env, file, handler } = home(agent)
  applyPlan(planInstall(agent, env, { ...handler, timeout: 9 }))
  applyPlan(planInstall(agent, env, handler))
  const ours = formOf(agent.hooks).find(readFileSync(file, 'utf8'), file)
  expect(ours.map((one) => one.event)).toEqual(agent.hooks.events)
  applyPlan(planUninstall(agent, env))
  expect(existsSync(join(file, '..'))).toBe(false)
  mkdirSync(join(file, '..'))
  writeFileSync(file, '#!/bin/sh\necho mine\n')
  expect(() => planInstall(agent, env, handler)).toThrow(/not a file of ours/)
  expect(readFileSync(file, 'utf8')).toContain('mine')
})

it('tells whose hook it was where no transcript does', () => {
  for (const form of ['tables', 'lists', 'plugin', 'script']) {
    const agent = agentWith(form)
    const { env } = home(agent)
    expect(cli(env, 'hooks', 'install', '--agent', agent.flavor).code).toBe(0)
    const command = () =>
      (
        JSON.parse(cli(env, 'hooks', 'status', '--agent', agent.flavor, '--json').stdout) as {
          agents: { command: string; last_fired_at: string | null; problem: string | null }[]
        }
      ).agents[0]
    expect(command()).toMatchObject({ last_fired_at: null, problem: null })
    const input = JSON.stringify({ hook_event_name: 'RecollectTest', session_id: 'session_a' })
    execFileSync('/bin/sh', ['-c', command()?.command as string], { input, env: { ...process.env, ...env } })
    expect(command()?.last_fired_at).not.toBeNull()
  }
})
