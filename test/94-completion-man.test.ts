// What completions offer (in shells: 94-completion-shells), the manual page and docs/cli.md as the tree makes them, the bundled samples.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commandDocs, manPage } from '../src/cli/man.ts'
import { isHere } from './setup/programs.ts'
import { cli, World } from './setup/sweeping.ts'

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
Object.assign(globalThis, { VERSION: version })
const { buildProgram } = await import('../src/cli/program.ts')

let world: World
beforeAll(async () => {
  world = new World()
  cpSync('samples', world.home, { recursive: true })
  await world.sweep()
})
afterAll(() => world.remove())

const words = (...typed: string[]): string[] =>
  cli(world.env, 'complete', '--', ...typed)
    .stdout.trim()
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split('\t')[0] as string)

describe('completions', () => {
  it('know commands, options, fixed values and what is in the memory', () => {
    expect(words('se')).toEqual(['sessions', 'search', 'serve'])
    expect(words('record', '')).toEqual(['turns', 'entire', 'run', 'lineage'])
    expect(words('usage', '--fl')).toEqual(['--flavor'])
    expect(words('sessions', '--flavor', '')).toEqual(expect.arrayContaining(['claude', 'codex', 'grok']))
    expect(words('hooks', 'install', '--agent', 'cop')).toEqual(['copilot'])
    expect(words('record', 'turns', '--agent', '')).toEqual([])
    expect(words('show', '@last', '--kind', 'ed')).toEqual(['edit'])
    expect(words('sessions', '--repo', '')).toEqual(['calc', 'inventory', 'notes'])
    expect(words('usage', '--model', 'claude')).toEqual(['claude-opus-5-5'])
    expect(words('show', '912')).toEqual(['912bbcd7'])
    expect(words('digest', '@')).toEqual(['@last'])
    expect(words('usage', 'mo')).toEqual(['month', 'model'])
    expect(words('show', '@last', '--color', '')).toEqual(['auto', 'always', 'never'])
    expect(words('')).not.toContain('complete')
  })

  it('of ids lead to the session they stand for', () => {
    for (const id of words('show', '').slice(0, 3)) expect(cli(world.env, 'digest', id).code).toBe(0)
  })

  it('say nothing where there is no memory', () => {
    const empty = new World()
    rmSync(empty.memory, { recursive: true })
    expect(cli(empty.env, 'complete', '--', 'sessions', '--repo', '')).toEqual({
      code: 0,
      stdout: ':4\n',
      stderr: '',
    })
    empty.remove()
  })
})

describe('the manual', () => {
  it('is what the tree makes of it (run `npm run docs`)', () => {
    expect(readFileSync('man/recollect.1', 'utf8')).toBe(manPage(buildProgram(), version))
    expect(readFileSync('docs/cli.md', 'utf8')).toBe(commandDocs(buildProgram()))
  })

  it.skipIf(!isHere('mandoc'))('has nothing mandoc warns of (skipped without it)', () => {
    const { stdout } = spawnSync('mandoc', ['-Tlint', '-Wwarning', 'man/recollect.1'], { encoding: 'utf8' })
    expect(stdout).toBe('')
  })

  it.skipIf(!isHere('man'))('is shown by man without warnings (skipped without it)', () => {
    const { stdout, stderr } = spawnSync('man', ['-l', '--warnings', 'man/recollect.1'], {
      env: { ...process.env, MANWIDTH: '80', LANG: 'C.UTF-8' },
      encoding: 'utf8',
    })
    expect(stderr).toBe('')
    expect(stdout).toContain('recollect show <id> [options]')
  })
})

describe('the demo', () => {
  it('makes a memory of the bundled samples and says how to look at it', () => {
    const { memory } = new World()
    const { code, stdout } = cli({ HOME: memory }, 'demo', '--dir', join(memory, 'demo'))
    expect(code).toBe(0)
    expect(stdout).toContain('7 sessions remembered')
    expect(stdout).toContain(`export RECOLLECT_HOME=${join(memory, 'demo')}`)
    expect(stdout).toContain('recollect ui ')
    const env = { HOME: memory, RECOLLECT_HOME: join(memory, 'demo') }
    for (const line of stdout.match(/(?<=^ {2}recollect ).*?(?= {2,}#)/gm) ?? []) {
      const args = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(
        ([, quoted, word]) => quoted ?? word,
      ) as string[]
      // The page runs until it is stopped: test/95-web-first.test.ts.
      if (args[0] === 'ui') continue
      const tried = cli(env, ...args)
      expect([line, tried.code, tried.stdout.length > 100]).toEqual([line, 0, true])
    }
    expect(existsSync(join(memory, '.local'))).toBe(false)
  })

  it('--if-empty prefers what agents left here', () => {
    const own = new World()
    cpSync(join('samples', '.codex'), join(own.home, '.codex'), { recursive: true })
    const there = cli(own.env, 'demo', '--if-empty')
    expect(there.stdout).toMatch(/2 new[\s\S]*2 sessions remembered/)
    const none = new World()
    const shown = cli({ ...none.env, TMPDIR: none.base }, 'demo', '--if-empty').stdout
    expect(shown).toMatch(
      /^no agent has left anything here:\n {2}. nothing of claude, codex,[^·]*A demo memory of the bundled samples/,
    )
    own.remove()
    none.remove()
  })

  it('stays small, and without texts of the makers of agents', () => {
    const files = readdirSync('samples', { recursive: true, encoding: 'utf8' })
      .map((name) => join('samples', name))
      .filter((path) => statSync(path).isFile())
    expect(files.reduce((sum, path) => sum + statSync(path).size, 0)).toBeLessThan(300_000)
    const text = files.map((path) => readFileSync(path, 'utf8')).join('\n')
    expect(/You are [^"]{300}/.exec(text)?.[0]).toBeUndefined()
  })
})

describe('the manual from a clone', () => {
  it('is read as the README says, because npm link puts none where man looks', () => {
    const command = 'recollect man | man -l -'
    expect(readFileSync('README.md', 'utf8')).toContain(command)
    const { stdout } = cli(world.env, 'man')
    expect(stdout).toBe(readFileSync('man/recollect.1', 'utf8'))
    if (spawnSync('sh', ['-c', 'command -v man']).status !== 0) return
    const shown = spawnSync('man', ['-l', '-'], { input: stdout, encoding: 'utf8' })
    // A man without the option is no man-db.
    if (shown.status === 0 && shown.stdout !== '') expect(shown.stdout).toMatch(/recollect/i)
  })
})
