// docs/adding-an-agent.md, run: its example reads its log, keeps the contract, and works as a plugin of the real program.
import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Adapter, EventItem, Item } from '../src/adapters/adapter.ts'
import { Config } from '../src/config.ts'
import { adaptersOf, loadPlugin, pluginFile } from '../src/sources/plugins.ts'
import { adapterContract } from './contract/adapter.ts'
import { cli, cliPath, temporary, World } from './setup/sweeping.ts'

const page = readFileSync(join(import.meta.dirname, '..', 'docs', 'adding-an-agent.md'), 'utf8')
function block(language: string): string {
  const found = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(page)?.[1]
  if (found === undefined) throw new Error(`no example in ${language}`)
  return found
}
const LOG = join('.acme', 'logs', 'first.jsonl')

function put(path: string, content: string): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
  return path
}

const plugin = put(join(temporary('plugin'), 'acme-agent.mjs'), block('js'))

describe('the example', () => {
  let acme: Adapter
  beforeAll(async () => {
    acme = (await loadPlugin(pluginFile(plugin))) as unknown as Adapter
  })

  it('tells what its log says', () => {
    const path = put(join(temporary('acme'), LOG), block('jsonl'))
    const items = [...acme.read(acme.claim(path, true) as NonNullable<ReturnType<Adapter['claim']>>, null)]
    const events = items.filter((item): item is EventItem => item.type === 'event')
    expect(
      events.map(({ kind, said, act, state, exitCode, mark }) =>
        [kind, said ?? act?.command, act?.does ?? state, exitCode, mark].filter((one) => one !== undefined),
      ),
    ).toEqual([
      ['user_msg', 'Fix the test'],
      ['assistant_msg', 'I run it first.'],
      ['test_run', 'npm test', 'shell'],
      ['error', '1 failing\nexit code 1', 'failed', 1],
      ['human_intervention', 'interrupt'],
    ])
    const facts = items.filter((item: Item) => item.type === 'session')
    expect(Object.assign({}, ...facts)).toMatchObject({
      session: 'first',
      cwd: '/home/dev/proj',
      model: 'acme-1',
      agentVersion: '2.1',
    })
    expect(items.find((item) => item.type === 'usage')).toMatchObject({
      input: 900,
      cacheRead: 100,
      output: 40,
      event: 'e2#0',
    })
  })
})

describe('the example keeps the contract', async () => {
  const make = (home: string): void => {
    put(
      join(home, LOG),
      block('jsonl')
        .repeat(20)
        .replace(/"id":"e\d"/g, (id, at: number) => `${id.slice(0, -1)}${at}"`),
    )
  }
  adapterContract({ adapter: await loadPlugin(pluginFile(plugin)), make })
})

describe('a plugin', () => {
  const world = (settings = `[sources]\nplugins = ["./acme-agent.mjs"]\n`): World => {
    const made = new World()
    put(join(made.memory, 'acme-agent.mjs'), block('js'))
    made.configure(settings)
    return made
  }

  it('is read by sweeps, here and in a thread, and found by its name', () => {
    const made = world(block('toml'))
    put(join(made.home, LOG), block('jsonl'))
    const swept = cli(made.env, 'sweep', '--json')
    expect(swept).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(swept.stdout)).toMatchObject({ new_events: 5, problems: [] })
    const listed = JSON.parse(cli(made.env, 'sessions', '--flavor', 'acme', '--json').stdout)
    expect(JSON.stringify(listed)).toContain('acme:first')
    // From 8 MB on a thread reads, which has to load it by itself.
    const lines = Array.from({ length: 40_000 }, (_, at) =>
      JSON.stringify({
        id: `e${at}`,
        at: '2026-11-15T12:00:00Z',
        who: 'user',
        text: 'more '.repeat(40) + at,
      }),
    )
    put(join(made.home, dirname(LOG), 'long.jsonl'), `${lines.join('\n')}\n`)
    const again = cli(made.env, 'sweep', '--json')
    expect(JSON.parse(again.stdout)).toMatchObject({ new_events: 40_000, problems: [] })
  })

  it('is loaded without a word of Node about how', () => {
    const made = world()
    put(join(made.home, LOG), block('jsonl'))
    const env = { PATH: process.env['PATH'], ...made.env }
    const { status, stderr } = spawnSync(process.execPath, [cliPath, 'sweep'], { env, encoding: 'utf8' })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  })

  it('is shown by doctor, with path and hash', () => {
    const made = world()
    const { findings } = JSON.parse(cli(made.env, 'doctor', '--json').stdout) as {
      findings: { id: string; text: string; severity: string }[]
    }
    const text = findings.find(({ id }) => id === 'source.plugin')?.text
    expect(text).toContain(join(made.memory, 'acme-agent.mjs'))
    expect(text).toContain(hash('sha256', block('js'), 'hex'))
  })

  it('may have directories of its own, and is not loaded unless it is named', async () => {
    const made = world()
    const archive = temporary('archive')
    put(join(archive, 'old.jsonl'), block('jsonl'))
    made.configure(`[sources]\nplugins = ["./acme-agent.mjs"]\n[sources.acme]\nroots = ["${archive}"]\n`)
    const config = new Config({ env: made.env })
    expect(await made.sweep({ config, adapters: await adaptersOf(config) })).toMatchObject({
      newEventCount: 5,
    })
    made.configure(`[sources.acme]\nroots = ["${archive}"]\n`)
    expect(cli(made.env, 'sweep')).toMatchObject({ code: 2 })
    expect(
      await adaptersOf(new Config({ env: { ...made.env, RECOLLECT_HOME: temporary('bare') } })),
    ).toHaveLength((await adaptersOf(config)).length - 1)
  })

  it.each([
    ['is not there', undefined, /cannot be read/],
    ['cannot be parsed', 'export default {', /cannot be loaded/],
    ['throws', 'export default () => { throw new Error("no") }', /cannot be loaded/],
    ['declares nothing', 'export const other = 1', /no object/],
    ['takes the name of another', "export default { flavor: 'run', version: 1 }", /an agent that is known/],
    ['has no version', "export default { flavor: 'acme' }", /`version`/],
    ['cannot find files', "export default { flavor: 'acme', version: 1 }", /`roots` and `claim`/],
    [
      'cannot read them',
      "export default { flavor: 'acme', version: 1, roots: () => [], claim: () => null }",
      /neither `read` nor `load`/,
    ],
  ])('that %s stops a sweep, with its place', async (_, content, what) => {
    const made = world('[sources]\nplugins = ["./other.mjs"]\n')
    const path = join(made.memory, 'other.mjs')
    if (content !== undefined) put(path, content)
    await expect(adaptersOf(new Config({ env: made.env }))).rejects.toMatchObject({
      code: 'BAD_CONFIG',
      where: path,
      message: expect.stringMatching(what),
      hint: expect.stringContaining('docs/adding-an-agent.md'),
    })
  })
})
