import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ADAPTERS } from '../src/adapters/index.ts'
import { Config, configDocs, nearest, parseBytes } from '../src/config.ts'
import { extraRoots, rootsOf } from '../src/sources/roots.ts'
import { parseDuration } from '../src/times.ts'
import { overridesOf } from '../src/usage/overrides.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'recollect-config-'))
})
afterEach(() => rmSync(home, { recursive: true }))

const configOf = (toml: string, env: Record<string, string> = {}, flags = {}): Config => {
  writeFileSync(join(home, 'config.toml'), toml)
  return new Config({ env: { RECOLLECT_HOME: home, ...env }, flags })
}

describe('layers', () => {
  it('take the default, then the file, then the environment, then the flag', () => {
    const file = '[record]\nflush = "os"\n'
    expect(new Config({ env: { RECOLLECT_HOME: home } }).get('record.flush')).toBe('fdatasync')
    expect(configOf(file).get('record.flush')).toBe('os')
    expect(configOf(file).origin('record.flush')).toBe(join(home, 'config.toml'))
    const env = { RECOLLECT_RECORD_FLUSH: 'fdatasync' }
    expect(configOf(file, env).get('record.flush')).toBe('fdatasync')
    expect(configOf(file, env).origin('record.flush')).toBe('RECOLLECT_RECORD_FLUSH')
    expect(configOf(file, env, { 'record.flush': 'os' }).get('record.flush')).toBe('os')
  })

  it('refuse a home that would depend on where a program was started, and write nothing there', () => {
    const empty = mkdtempSync(join(tmpdir(), 'recollect-no-home-'))
    try {
      const run = (...args: string[]) =>
        spawnSync(process.execPath, args, {
          cwd: empty,
          env: { PATH: process.env['PATH'], HOME: '', XDG_DATA_HOME: 'data' },
          input: '{}',
          encoding: 'utf8',
        })
      const swept = run(resolve('dist/cli.cjs'), 'sweep', '--json')
      expect(swept.status).toBe(2)
      expect(JSON.parse(swept.stdout).error).toMatchObject({ code: 'BAD_CONFIG', where: 'HOME' })
      expect(JSON.parse(swept.stdout).error.hint).toContain('RECOLLECT_HOME')
      // Commands that run compiled code look for it in the home before anything else.
      const shown = run(resolve('dist/cli.cjs'), 'status', '--json')
      expect([shown.status, shown.stderr]).toEqual([2, ''])
      expect(JSON.parse(shown.stdout)).toEqual(JSON.parse(swept.stdout))
      expect(run(resolve('dist/recollect-hook.cjs')).status).toBe(0)
      expect(readdirSync(empty)).toEqual([])
    } finally {
      rmSync(empty, { recursive: true })
    }
    // Without one, agents' own places are nowhere; those of the settings still are.
    for (const adapter of ADAPTERS) {
      const paths = rootsOf(adapter, { HOME: 'here' }, { [adapter.flavor]: ['/there'] })
      expect(paths).toEqual(['/there'])
    }
  })

  it('find the home in RECOLLECT_HOME, else in the XDG data directory, else below HOME', () => {
    expect(new Config({ env: { RECOLLECT_HOME: '/a' } }).home).toBe('/a')
    expect(new Config({ env: { XDG_DATA_HOME: '/x', HOME: '/h' } }).home).toBe('/x/recollect')
    expect(new Config({ env: { HOME: '/h' } }).home).toBe('/h/.local/share/recollect')
  })
})

describe('a path', () => {
  it('begins, when it is relative, where the file lies that names it, else where we are', () => {
    const paths = '[store]\ndb_path = "mem/m.db"\n[hub]\ndigests_dir = "~/digests"\n'
    expect(configOf(paths).get('store.db_path')).toBe(join(home, 'mem', 'm.db'))
    expect(configOf(paths).get('hub.digests_dir')).toBe(join(homedir(), 'digests'))
    expect(configOf(paths, { HELIX_STORE_DB: 'm.db' }).get('store.db_path')).toBe(resolve('m.db'))
  })
})

describe('a wrong setting', () => {
  it('is refused with its place, the reason and the default', () => {
    expect(() => configOf('[record]\nflush = "maybe"')).toThrow(
      expect.objectContaining({
        code: 'BAD_CONFIG',
        message: 'record.flush must be one of os, fdatasync, not "maybe"',
        where: `${join(home, 'config.toml')}: record.flush`,
      }),
    )
    expect(() => configOf('', { RECOLLECT_RECORD_LOCK_TIMEOUT: 'soon' })).toThrow(/duration such as/)
  })

  it('with an unknown name is refused, with the name that was meant', () => {
    expect(() => configOf('[record]\nflussh = "os"')).toThrow(
      expect.objectContaining({ code: 'BAD_CONFIG', hint: 'did you mean record.flush?' }),
    )
    expect(() => configOf('[zzz]\nx = 1')).toThrow(/unknown setting zzz/)
  })

  it('about sources is refused: no list, another key, no table, an agent that is not known', () => {
    const roots = '[sources.codex]\nroots = ["~/old", "here", "/there"]\n'
    expect(extraRoots(configOf(roots))).toEqual({
      codex: ['~/old', join(home, 'here'), '/there'],
    })
    for (const wrong of ['codex = ["/x"]', 'codex.roots = "/x"', 'codex.root = ["/x"]', 'codex.roots = [""]'])
      expect(() => configOf(`[sources]\n${wrong}`)).toThrow(/sources must be tables/)
    expect(() => configOf('sources = ["/x"]')).toThrow(/sources/)
    expect(() => extraRoots(configOf(roots.replace('codex', 'codecs')))).toThrow(
      expect.objectContaining({ code: 'BAD_CONFIG', hint: 'did you mean codex?' }),
    )
  })

  it.each([
    ['[domains]\nshop = 3', 'domains.shop', 'a text that is not empty, not 3'],
    ['[domains]\nshop = ["a"]', 'domains.shop', 'a text that is not empty, not ["a"]'],
    ['[domains]\n"/w/a b" = ""', 'domains."/w/a b"', 'a text that is not empty, not ""'],
    ['[domains.shop]\nname = "a"', 'domains.shop', 'a text that is not empty, not {"name":"a"}'],
    ['[domains]\nshop = inf', 'domains.shop', 'a text that is not empty, not Infinity'],
    ['domains = 2026-11-01', 'domains', 'a table, not "2026-11-01"'],
    ['domains = []', 'domains', 'a table, not []'],
    ['[digest.buckets]\ninfra = "mcp*"', 'digest.buckets.infra', 'a list of texts, not "mcp*"'],
    ['[digest.buckets]\ninfra = ["mcp*", ""]', 'digest.buckets.infra', 'a list of texts, not ["mcp*",""]'],
    ['[digest.buckets.infra]\nmcp = 1', 'digest.buckets.infra', 'a list of texts, not {"mcp":1}'],
    ['[task_ref]\npatterns = ["("]', 'task_ref.patterns', 'a list of regular expressions, not ["("]'],
    ['[task_ref]\npatterns = [""]', 'task_ref.patterns', 'a list of regular expressions, not [""]'],
    ['[task_ref]\npatterns = "T-1"', 'task_ref.patterns', 'a list of regular expressions, not "T-1"'],
    ['prices = 3', 'prices', 'a table, not 3'],
    ['price_aliases = ["a"]', 'price_aliases', 'a table, not ["a"]'],
    ['record = []', 'record', 'a table, not []'],
    ['record = 5', 'record', 'a table, not 5'],
    ['[[session_memory.retention]]\ncadence = "daily"', 'session_memory.retention', 'a table, not [{"cad'],
    ['[hub]\ntimeout = [1]', 'hub.timeout', 'a duration such as'],
    ['[hub]\ntoken_env = 1', 'hub.token_env', 'a text, not 1'],
    ['[hub]\nurl = {}', 'hub.url', 'an address such as'],
    ['[store]\ndb_path = {}', 'store.db_path', 'a path, not {}'],
    ['[record]\nmax_line = []', 'record.max_line', 'a size such as'],
    [
      '[session_memory.retention]\nraw_max_age_days = true',
      'session_memory.retention.raw_max_age_days',
      'a whole',
    ],
  ])('of another kind is refused with its place: %j', (toml, key, expected) => {
    expect(() => configOf(toml)).toThrow(
      expect.objectContaining({
        code: 'BAD_CONFIG',
        message: expect.stringContaining(`${key} must be ${expected}`),
        where: `${join(home, 'config.toml')}: ${key}`,
      }),
    )
  })

  it('of another kind is cut where it is long', () => {
    expect(() => configOf(`[domains]\nshop = ["${'x'.repeat(5000)}"]`)).toThrow(/x{70,80}…$/)
  })

  it('about prices is refused with the file it stands in', () => {
    expect(() => overridesOf(configOf('[prices.m]\ninput = 1'))).toThrow(
      expect.objectContaining({ where: `${join(home, 'config.toml')}: prices."m".output` }),
    )
  })

  it('in broken TOML is refused with its place in the file', () => {
    expect(() => configOf('[record]\nflush = [')).toThrow(
      expect.objectContaining({ code: 'BAD_CONFIG', where: `${join(home, 'config.toml')}:2:9` }),
    )
  })
})

describe('values', () => {
  it.each([
    ['4GiB', 4 * 1024 ** 3],
    ['6 gib', 6 * 1024 ** 3],
    ['1.5MiB', 1.5 * 1024 ** 2],
    ['2GB', 2e9],
    [500, 500],
    ['-1', undefined],
    ['4 elephants', undefined],
    [1.5, undefined],
    ['', undefined],
  ])('parse sizes: %j', (text, bytes) => expect(parseBytes(text)).toBe(bytes))

  it.each([
    ['30s', 30_000],
    ['500ms', 500],
    ['7d', 604_800_000],
    [10, 10],
    [2.5, 3],
    // In floating point this is 1000.9999…, which no timer takes.
    ['1.001s', 1001],
    ['5', undefined],
    [-1, undefined],
  ])('parse durations: %j', (text, ms) => expect(parseDuration(text)).toBe(ms))

  it('suggest the nearest spelling only when it is near', () => {
    expect(nearest('serch', ['search', 'show'])).toBe('search')
    expect(nearest('quetzal', ['search', 'show'])).toBeUndefined()
  })
})

describe('docs/config.md', () => {
  it('is what the table makes of it (run `npm run docs`)', () => {
    expect(readFileSync('docs/config.md', 'utf8')).toBe(configDocs())
  })
})
