// Other forms of an answer: a table for a spreadsheet, and a pager.

import { spawnSync } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Config } from '../src/config.ts'
import { label } from '../src/label.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { isHere } from './setup/programs.ts'
import { cli, cliPath, World } from './setup/sweeping.ts'

const world = new World()
beforeAll(async () => {
  cpSync(join(unpackAgent('claude'), 'tools'), world.home, { recursive: true })
  await world.sweep()
  world.configure('[session_memory.retention]\nraw_soft_cap_bytes = 1000\n')
  label(new Config({ env: world.env }), '@last', {
    star: true,
    title: '=HYPERLINK("x"), and more',
    addTags: ['a', 'b'],
    addNote: 'one,\n"two"',
  })
})
afterAll(() => world.remove())
const run = (...args: string[]) => cli(world.env, ...args)

/** As RFC 4180 has it. */
function parse(text: string): string[][] {
  const rows: string[][] = [[]]
  for (const [, quoted, plain = '', end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    rows.at(-1)?.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    if (end === '\r\n') rows.push([])
  }
  return rows.slice(0, -1)
}

describe('CSV', () => {
  it('has the fields of the document, quoted, and runs nothing in a spreadsheet', () => {
    const [head = [], ...rows] = parse(run('sessions', '--csv').stdout)
    const { sessions } = JSON.parse(run('sessions', '--json').stdout)
    expect(rows).toHaveLength(sessions.length)
    const valueIn = (row: string[] | undefined, name: string) => row?.[head.indexOf(name)]
    expect(valueIn(rows[0], 'session_uid')).toBe(sessions[0].session_uid)
    expect(valueIn(rows[0], 'title')).toBe('\'=HYPERLINK("x"), and more')
    expect(valueIn(rows[0], 'tags')).toBe('a b')
    expect(valueIn(rows[0], 'cost.turns')).toBe(String(sessions[0].cost.turns))
    expect(parse(run('note', '--csv').stdout)[1]).toContain('one,\n"two"')
    expect(parse(run('usage', 'model', '--csv').stdout)[0]).toEqual(
      Object.keys(JSON.parse(run('usage', 'model', '--json').stdout).rows[0]),
    )
    for (const args of [['usage', 'blocks', '--since', '2026-11-01'], ['tag']])
      expect([args, parse(run(...args, '--csv').stdout).length > 1]).toEqual([args, true])
  })

  it.each<[string, string[], string]>([
    ['hits', ['search', 'calc'], 'hits'],
    ['patterns', ['patterns', 'AssertionError [ERR_ASSERTION]: add(2,3) should be 5'], 'seen'],
    ['relatives', ['lineage'], 'nodes'],
    ['agents', ['status'], 'flavors'],
    ['settings', ['config'], 'settings'],
    ['sources', ['sweep', '--dry-run', '--full'], 'coverage'],
    ['hooks', ['hooks', 'status'], 'agents'],
    ['what would go', ['evict', '--dry-run'], 'steps'],
    ['marked sessions', ['star'], 'sessions'],
  ])('tells %s, a row each', (_what, args, field) => {
    const rows = JSON.parse(run(...args, '--json').stdout)[field]
    const told = run(...args, '--csv')
    expect([told.code, parse(told.stdout).length]).toEqual([0, rows.length + 1])
    const [head = [], first = []] = parse(told.stdout)
    for (const [name, value] of Object.entries(rows[0]))
      if (typeof value === 'string' && !/^[=+@-]/.test(value))
        expect(first[head.indexOf(name)], name).toBe(value)
  })

  it('of nothing is nothing', () => {
    expect(run('decide', '--csv')).toMatchObject({ code: 0, stdout: '' })
  })

  it('and JSON are two forms: together they are refused', () => {
    for (const args of [['sessions'], ['usage', 'limits'], ['decide'], ['search', 'calc'], ['lineage']])
      expect(run(...args, '--csv', '--json')).toMatchObject({
        code: 2,
        stdout: expect.stringContaining('--csv'),
      })
    expect(run('lineage', '--csv', '--dot').code).toBe(2)
    expect(run('doctor', '--csv', '--fix').code).toBe(2)
  })
})

describe.skipIf(!isHere('script'))('the pager', () => {
  const onTerminal = (command: string, env: Record<string, string>): string =>
    spawnSync('script', ['-qec', command, '/dev/null'], {
      env: { PATH: process.env['PATH'] ?? '', LANG: 'C.UTF-8', TERM: 'xterm', ...world.env, ...env },
      encoding: 'utf8',
      input: '',
    }).stdout

  it('reads long answers on a terminal, and is off in a pipe', () => {
    const pager = join(world.base, 'pager.sh')
    writeFileSync(pager, '#!/bin/sh\necho "paged by $0"\ncat\n', { mode: 0o755 })
    const program = `${process.execPath} ${cliPath}`
    for (const args of ['show @last', 'sessions', 'search calc', 'digest @last']) {
      const out = onTerminal(`${program} ${args}`, { PAGER: pager })
      expect([args, out.startsWith('paged by ')]).toEqual([args, true])
      expect(out.split('\n').length).toBeGreaterThan(2)
    }
    expect(onTerminal(`${program} sessions`, {})).toContain('STARTED')
    expect(onTerminal(`${program} sessions`, { PAGER: pager, RECOLLECT_PAGER: '' })).not.toContain('paged')
    expect(cli({ ...world.env, PAGER: pager }, 'sessions').stdout).not.toContain('paged')
    // Who leaves it early has read enough.
    expect(onTerminal(`${program} show @last --full; echo "ended $?"`, { PAGER: 'head -1' })).toContain(
      'ended 0',
    )
  })
})
