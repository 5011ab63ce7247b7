// Another machine's agents, read over a real sshd: what is copied, continued, left alone and forgotten.
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Cksum } from '../src/remote/cksum.ts'
import { destinationOf } from '../src/remote/destination.ts'
import { OTHER, SESSION, user, write } from './setup/claude.ts'
import { differences } from './setup/dump.ts'
import { agentArchive, unpackAgent } from './setup/fixtures.ts'
import { isHere } from './setup/programs.ts'
import { HAS_SSHD, Sshd } from './setup/sshd.ts'
import { type CliResult, cli, World } from './setup/sweeping.ts'

describe('the address of a machine', () => {
  it.each(['ssh:box', 'ssh:me@box.example', 'ssh://me@box:2222', 'ssh:[::1]'])('is taken: %s', (typed) => {
    expect(destinationOf(typed).key).toBe(typed)
  })

  it.each([
    '',
    'box',
    'ssh:',
    'ssh:-oProxyCommand=touch x',
    'ssh:-F/etc/passwd',
    'ssh:me@-box',
    'ssh:box;id',
    'ssh:a b',
    'ssh:../x',
    'ssh:a\nb',
    'ssh:$(id)',
  ])('is refused: %j', (typed) => {
    expect(() => destinationOf(typed)).toThrow(expect.objectContaining({ code: 'USAGE' }))
  })
})

it.skipIf(!isHere('cksum'))('counts as the program cksum does', () => {
  for (const text of ['', 'a', 'some bytes\n', 'x'.repeat(70_000)]) {
    const sum = new Cksum()
    for (const part of text.match(/.{1,999}/gs) ?? []) sum.add(Buffer.from(part))
    expect(`${sum}\n`).toBe(execFileSync('cksum', { input: text, encoding: 'utf8' }))
  }
})

it.skipIf(!isHere('cksum'))('what a machine makes up of its files is named, and the rest is read', () => {
  const world = new World()
  const remote = join(world.base, 'remote')
  const projects = join(remote, '.claude', 'projects')
  const databases = join(remote, '.local', 'share', 'opencode', 'opencode.db')
  mkdirSync(databases, { recursive: true })
  const program = (name: string, ...lines: string[]): void =>
    writeFileSync(join(remote, name), ['#!/bin/sh', ...lines, ''].join('\n'), { mode: 0o755 })
  write(join(projects, '-w', `${SESSION}.jsonl`), [user('a', null, 'hello')])
  write(join(projects, '-w', `${OTHER}.jsonl`), [user('a', null, 'hello')])
  const size = (name: string): number => statSync(join(projects, '-w', `${name}.jsonl`)).size
  const lines = [
    `${size(SESSION)} 1 5 ${projects}/-w/${SESSION}.jsonl`,
    `${size(OTHER)} ${'9'.repeat(400)} 6 ${projects}/-w/${OTHER}.jsonl`,
    `0 1 7 ${projects}/${'n'.repeat(300)}/${OTHER}.jsonl`,
  ]
  writeFileSync(join(remote, 'of-projects'), `${lines.join('\n')}\n`)
  writeFileSync(join(remote, 'of-databases'), `10 1 8 ${databases}/${'n'.repeat(300)}/opencode.db\n`)
  program('ssh', 'for last; do :; done', `HOME=${remote} exec sh -c "$last"`)
  // Asked what it can do, and then for what is below a directory.
  program(
    'find',
    `case $2 in ${projects}) cat ${remote}/of-projects;; ${databases}) cat ${remote}/of-databases;; esac`,
  )
  const env = { ...world.env, PATH: `${remote}:${process.env['PATH']}` }
  const { code, stdout, stderr } = cli(env, 'sweep', '--from', 'ssh:box', '--json')
  expect(stderr).toBe('')
  const { problems, copied } = JSON.parse(stdout) as {
    problems: { code: string; path: string }[]
    copied: { files: number }
  }
  expect([code, copied.files, problems.map((one) => one.code).sort()]).toEqual([
    4,
    1,
    ['BAD_NAME', 'BAD_NAME', 'BAD_NAME'],
  ])
  expect(JSON.parse(cli(world.env, 'sessions', '--json').stdout).sessions).toHaveLength(1)
})

describe.skipIf(!HAS_SSHD)('sweep --from, over sshd', () => {
  let sshd: Sshd
  let world: World
  let transcript: string

  beforeAll(async () => {
    sshd = await Sshd.start()
  })

  beforeEach(() => {
    rmSync(sshd.home, { recursive: true, force: true })
    mkdirSync(sshd.home)
    world = new World()
    transcript = join(sshd.home, '.claude', 'projects', '-w', `${SESSION}.jsonl`)
  })

  const sweep = (...more: string[]): CliResult =>
    cli({ ...world.env, PATH: `${sshd.bin}:${process.env['PATH']}` }, 'sweep', '--from', 'ssh:box', ...more)

  /** Without a problem; what it says. */
  const sweepWell = (): Record<string, never> & { copied: { files: number; bytes: number } } => {
    const { code, stdout, stderr } = sweep('--json')
    expect(stderr).toBe('')
    expect({ code, problems: JSON.parse(stdout).problems }).toEqual({ code: 0, problems: [] })
    return JSON.parse(stdout)
  }

  const copies = (): string => join(world.memory, 'hosts', 'box', 'files')
  const sessionOf = (id: string) => world.read((reader) => reader.sessions.of([`claude:${id}`]))[0]
  const turnsOf = (id: string): number | undefined => sessionOf(id)?.cost.turns

  it('makes of a machine what a sweep on it would make, and touches nothing there', async () => {
    for (const client of readdirSync(join(import.meta.dirname, 'fixtures', 'agents')).map((name) =>
      name.slice(0, -4),
    )) {
      if (!agentArchive(client)) continue
      const all = unpackAgent(client)
      cpSync(join(all, readdirSync(all).sort()[0] as string), sshd.home, { recursive: true })
    }
    const before = filesIn(sshd.home)
    sweepWell()
    const after = filesIn(sshd.home)
    expect(after).toEqual(before)
    const there = new World(sshd.home)
    await there.sweep()
    const [here, wanted] = [world.dump(), there.dump()]
    expect(here.sessions.length).toBeGreaterThan(20)
    // Ids that only count the sessions of one database have an ending elsewhere.
    const ending = /(?<=goose:\d{8}_\d+)@\d+/g
    const copied = JSON.stringify([here.events, here.usage, here.edges])
    expect(copied).toMatch(ending)
    expect(
      differences(JSON.parse(copied.replace(ending, '')), [wanted.events, wanted.usage, wanted.edges]),
    ).toEqual([])
    there.remove()
  }, 120_000)

  it('says whose machine it was, looks for repositories only there, and takes secrets out', () => {
    const secret = `ghp_${'aB3dE6gH9jK2mN5pQ8sT'.repeat(2).slice(0, 36)}`
    write(transcript, [user('a', null, `use ${secret}`, { cwd: join(import.meta.dirname, 'setup') })])
    sweepWell()
    const session = sessionOf(SESSION)
    expect({ host: session?.host, repo: session?.repo }).toEqual({ host: hostname(), repo: 'setup' })
    const own = join(world.home, '.claude', 'projects', '-w', `${OTHER}.jsonl`)
    write(own, [user('b', null, 'here', { sessionId: OTHER })])
    expect(cli(world.env, 'sweep').code).toBe(0)
    expect(sessionOf(OTHER)?.host_id).not.toBe(session?.host_id)
    expect(sessionOf(OTHER)?.user).toBe(session?.user)
    expect(cli(world.env, 'show', SESSION).stdout).not.toContain(secret)
    // Its agent knows it there.
    const resumed = cli(world.env, 'resume', SESSION, '--print').stdout
    expect(resumed).toMatch(/^ssh -t \S+ 'exec sh -c /)
    expect(resumed).toContain(`claude --resume ${SESSION}`)
    expect(cli(world.env, 'resume', OTHER, '--print').stdout).toBe(`cd /w && claude --resume ${OTHER}\n`)
    expect(statSync(join(world.memory, 'hosts')).mode & 0o777).toBe(0o700)
    expect(statSync(join(copies(), transcript)).mode & 0o777).toBe(0o600)
  })

  it('copies only what is new, goes on in what grew, and reads anew what was written anew', () => {
    write(transcript, [user('a', null, 'one'), user('b', 'a', 'two')])
    const size = statSync(transcript).size
    expect(sweepWell().copied).toMatchObject({ files: 1, bytes: size })
    expect(sweepWell().copied).toMatchObject({ files: 0, bytes: 0 })
    const more = `${JSON.stringify(user('c', 'b', 'three'))}\n`
    appendFileSync(transcript, more)
    expect(sweepWell().copied).toMatchObject({ files: 1, bytes: more.length })
    expect(turnsOf(SESSION)).toBe(3)
    // The same file, shorter and longer, with other bytes where ours end.
    for (const texts of [['another'], ['x'.repeat(5000), 'y'.repeat(5000)]]) {
      const records = texts.map((text, at) => user(`r${texts.length}${at}`, null, text))
      writeFileSync(transcript, records.map((one) => `${JSON.stringify(one)}\n`).join(''))
      sweepWell()
      expect(readFileSync(join(copies(), transcript))).toEqual(readFileSync(transcript))
    }
  })

  it('goes on where a copy was broken off, and takes back what is gone there', () => {
    write(transcript, [user('a', null, 'x'.repeat(20_000)), user('b', 'a', 'y'.repeat(20_000))])
    sweepWell()
    // As a kill leaves it: begun, and noted as such.
    const state = join(world.memory, 'hosts', 'box', 'state.json')
    const known = JSON.parse(readFileSync(state, 'utf8'))
    known.copies[transcript].modified = ''
    writeFileSync(state, JSON.stringify(known))
    truncateSync(join(copies(), transcript), 15_000)
    expect(sweepWell().copied.bytes).toBe(statSync(transcript).size - 15_000)
    expect(readFileSync(join(copies(), transcript))).toEqual(readFileSync(transcript))
    rmSync(transcript)
    write(join(sshd.home, '.claude', 'projects', '-w', `${OTHER}.jsonl`), [
      user('c', null, 'stays', { sessionId: OTHER }),
    ])
    sweepWell()
    expect(existsSync(join(copies(), transcript))).toBe(false)
    expect(sessionOf(SESSION)).toMatchObject({ is_sole_copy: true, cost: { turns: 2 } })
  })

  it("leaves credentials, links and other people's files where they are, and names what it cannot ask for", () => {
    const project = join(sshd.home, '.claude', 'projects', '-w')
    const evil = join(project, `$(touch ${sshd.base}/pwned) ; 'a" \\ -rf * `)
    mkdirSync(evil, { recursive: true })
    write(join(evil, `${SESSION}.jsonl`), [user('a', null, 'odd names')])
    write(join(project, `${OTHER}.jsonl`), [user('b', null, 'hi', { sessionId: OTHER })])
    for (const name of ['.credentials.json', 'auth.json', '.env', 'line\nbreak.jsonl'])
      writeFileSync(join(project, name), 'secret')
    writeFileSync(Buffer.concat([Buffer.from(`${project}/`), Buffer.from([0xff, 0x2e, 0x6a])]), 'secret')
    symlinkSync('/etc', join(project, 'etc'))
    symlinkSync('/etc/passwd', join(project, '33333333-3333-4333-8333-333333333333.jsonl'))
    const { code, stdout } = sweep('--json')
    expect(code).toBe(4)
    expect(JSON.parse(stdout).problems).toEqual([
      expect.objectContaining({ code: 'BAD_NAME', reason: '2 names that cannot be asked for' }),
    ])
    expect(existsSync(join(sshd.base, 'pwned'))).toBe(false)
    expect(
      filesIn(copies())
        .map(({ path }) => path)
        .sort(),
    ).toEqual([join(evil, `${SESSION}.jsonl`), join(project, `${OTHER}.jsonl`)].sort())
    expect(turnsOf(SESSION)).toBe(1)
  })

  it('forgets a session with what was copied of it, and does not copy it again', () => {
    const beside = join(transcript.slice(0, -'.jsonl'.length), 'tool-results', 'x.txt')
    mkdirSync(join(beside, '..'), { recursive: true })
    writeFileSync(beside, 'the private word')
    write(transcript, [user('a', null, 'the private word')])
    write(join(sshd.home, '.claude', 'projects', '-w', `${OTHER}.jsonl`), [
      user('b', null, 'other', { sessionId: OTHER }),
    ])
    sweepWell()
    expect(existsSync(join(copies(), beside))).toBe(true)
    expect(cli(world.env, 'forget', SESSION, '--yes').stdout).toContain('what was copied of it is removed')
    appendFileSync(transcript, `${JSON.stringify(user('c', 'a', 'the private word again'))}\n`)
    expect(sweepWell().copied.files).toBe(0)
    expect(filesIn(copies()).map(({ path }) => path)).toEqual([
      join(sshd.home, '.claude', 'projects', '-w', `${OTHER}.jsonl`),
    ])
    expect(sessionOf(SESSION)).toBeUndefined()
  })

  it('says what is wrong where there is no way to the machine', () => {
    const bin = join(world.base, 'bin')
    mkdirSync(bin)
    writeFileSync(join(bin, 'ssh'), '#!/bin/sh\necho "Permission denied (publickey)." >&2\nexit 255\n')
    chmodSync(join(bin, 'ssh'), 0o755)
    const at = (path: string) => cli({ ...world.env, PATH: path }, 'sweep', '--from', 'ssh:box')
    expect(at(`${bin}:${process.env['PATH']}`).stderr).toMatch(
      /Permission denied \(publickey\)[\s\S]*ssh box true/,
    )
    expect(at('/nowhere').stderr).toContain('there is no ssh here')
  })
})

describe.skipIf(!HAS_SSHD)('of an account', () => {
  it.each([
    ['whose shell is fish', { shell: '/usr/bin/fish' }],
    ['whose find prints nothing but names', { poorFind: true }],
  ])('%s', async (_, { shell, poorFind }: { shell?: string; poorFind?: boolean }) => {
    if (shell !== undefined && !existsSync(shell)) return
    const world = new World()
    const tools = join(world.base, 'tools')
    mkdirSync(tools)
    writeFileSync(
      join(tools, 'find'),
      '#!/bin/sh\ncase "$*" in *-printf*) exit 1;; esac\nexec /usr/bin/find "$@"\n',
    )
    chmodSync(join(tools, 'find'), 0o755)
    const sshd = await Sshd.start({
      ...(shell ? { shell } : {}),
      ...(poorFind ? { tools: `${tools}:/usr/bin:/bin` } : {}),
    })
    write(join(sshd.home, '.claude', 'projects', '-w', `${SESSION}.jsonl`), [user('a', null, 'hello')])
    const { code, stderr } = cli(
      { ...world.env, PATH: `${sshd.bin}:${process.env['PATH']}` },
      'sweep',
      '--from',
      'ssh:box',
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(world.read((reader) => reader.sessions.of([`claude:${SESSION}`]))[0]?.cost.turns).toBe(1)
    sshd.stop()
  })
})

interface FileIn {
  path: string
  size: number
  modified: number
  inode: number
}

/** Below a directory, by their paths there; of directories the times alone tell whether something was added. */
function filesIn(directory: string): FileIn[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => {
      const { size, mtimeMs, ino } = statSync(path)
      return {
        path: path.slice(path.startsWith(directory) && directory.endsWith('/files') ? directory.length : 0),
        size,
        modified: mtimeMs,
        inode: ino,
      }
    })
    .sort((a, b) => (a.path < b.path ? -1 : 1))
}
