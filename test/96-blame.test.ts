// From a line or a commit to the session that made it, in a repository whose history we know: sessions edit, people edit,
// files are written over, and the same lines stand in several places.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { assistant, call, type Fields, result, text, user, write } from './setup/claude.ts'
import { cliPath, World } from './setup/sweeping.ts'

const hasGit = spawnSync('git', ['--version']).status === 0
const world = new World()
const repository = join(world.base, 'project')
const idOf = (name: string): string => `${name.repeat(8)}-1111-4111-8111-111111111111`
const uidOf = (name: string): string => `claude:${idOf(name)}`

let clock = Date.parse('2026-03-01T10:00:00Z')
function tick(): string {
  clock += 60_000
  return new Date(clock).toISOString()
}
const git = (...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@t', '-c', 'commit.gpgsign=false', ...args], {
    cwd: repository,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: world.home, GIT_AUTHOR_DATE: tick(), GIT_COMMITTER_DATE: tick() },
  })

interface Deed {
  write?: [path: string, content: string]
  edit?: [path: string, before: string, after: string]
  /** A command that shows the commit it made. */
  commit?: string
}

/** A session that does what it says: files change as its calls tell. */
class Written {
  readonly records: Fields[] = []
  readonly #name: string
  #at = 0

  constructor(name: string) {
    this.#name = name
  }

  asks(prompt: string, ...deeds: Deed[]): void {
    this.#add((id, parent) => user(id, parent, prompt, this.#fields()))
    for (const deed of deeds) this.#do(deed)
    this.#add((id, parent) => assistant(id, parent, [text('done')], this.#fields()))
  }

  #fields = (): Fields => ({ sessionId: idOf(this.#name), cwd: repository, timestamp: tick() })

  #add(make: (id: string, parent: string | null) => Fields): void {
    const at = this.#at++
    this.records.push(make(`${this.#name}${at}`, at === 0 ? null : `${this.#name}${at - 1}`))
  }

  #do({ write: whole, edit, commit }: Deed): void {
    const id = `t${this.#name}${this.#at}`
    const at = (path: string): string => join(repository, path)
    const [tool, input] = whole
      ? ['Write', { file_path: at(whole[0]), content: whole[1] }]
      : edit
        ? ['Edit', { file_path: at(edit[0]), old_string: edit[1], new_string: edit[2] }]
        : ['Bash', { command: `git commit -am ${commit}` }]
    this.#add((one, parent) => assistant(one, parent, [call(id, tool as string, input)], this.#fields()))
    if (whole) put(whole[0], whole[1])
    if (edit)
      put(
        edit[0],
        readFileSync(at(edit[0]), 'utf8').replace(edit[1], () => edit[2]),
      )
    const said = commit === undefined ? 'ok' : commitAll(commit)
    this.#add((one, parent) => user(one, parent, [result(id, said)], this.#fields()))
  }
}

function put(path: string, content: string): void {
  mkdirSync(dirname(join(repository, path)), { recursive: true })
  writeFileSync(join(repository, path), content)
}

function commitAll(subject: string): string {
  git('add', '-A')
  return git('commit', '-m', subject)
}

interface Blamed {
  code: number | null
  stdout: string
  stderr: string
}
const run = (...args: string[]): Blamed => runIn(repository, ...args)

function runIn(directory: string, ...args: string[]): Blamed {
  const { status, stdout, stderr } = spawnSync(process.execPath, [cliPath, 'blame', ...args], {
    cwd: directory,
    env: { PATH: process.env['PATH'], LANG: 'C.UTF-8', ...world.env },
    encoding: 'utf8',
  })
  return { code: status, stdout, stderr }
}
interface Told {
  lines: number
  unknown_lines: number
  made_by: {
    session_uid: string
    seq: number
    lines: number
    basis: string
    prompt: { text: string } | null
  }[]
}
const blamed = (what: string): Told => JSON.parse(run(what, '--json').stdout) as Told
const makerOf = (what: string): string | undefined => blamed(what).made_by[0]?.session_uid

const PARSER = 'export function parse(input) {\n  return input.split(",")\n}\n'
let shas: Record<'shown' | 'silent' | 'byHand', string>

beforeAll(async () => {
  if (!hasGit) return
  mkdirSync(repository, { recursive: true })
  git('init', '-q', '-b', 'main')
  const [a, b, c] = [new Written('a'), new Written('b'), new Written('c')]
  a.asks('Write a parser', { write: ['src/parse.js', PARSER] }, { commit: 'parser' })
  const shown = git('rev-parse', 'HEAD').trim()
  b.asks('Let it trim', {
    edit: ['src/parse.js', '  return input.split(",")', '  return input.trim().split(",")'],
  })
  commitAll('trims')
  const silent = git('rev-parse', 'HEAD').trim()
  // By hand, in no session.
  put(
    'src/parse.js',
    `${readFileSync(join(repository, 'src/parse.js'), 'utf8')}// written by hand, by nobody we know\n`,
  )
  commitAll('by hand')
  const byHand = git('rev-parse', 'HEAD').trim()
  // Another file of the same name, with the same line.
  c.asks(
    'The same elsewhere',
    { write: ['other/src/parse.js', `${PARSER}const only = "here"\n`] },
    // And the first one written over, as it was but for one line.
    {
      write: [
        'src/parse.js',
        `${readFileSync(join(repository, 'src/parse.js'), 'utf8')}const added = "at the end"\n`,
      ],
    },
  )
  for (const [name, one] of Object.entries({ a, b, c }))
    write(join(world.home, '.claude', 'projects', '-project', `${idOf(name)}.jsonl`), one.records)
  await world.sweep()
  shas = { shown, silent, byHand }
})
afterAll(() => world.remove())

describe.skipIf(!hasGit)('blame', () => {
  it('finds the session, the edit and the prompt of a line', () => {
    expect(blamed('src/parse.js:1')).toMatchObject({
      lines: 1,
      unknown_lines: 0,
      made_by: [{ session_uid: uidOf('a'), lines: 1, basis: 'edit', prompt: { text: 'Write a parser' } }],
    })
    expect(blamed('src/parse.js:2').made_by).toMatchObject([
      { session_uid: uidOf('b'), prompt: { text: 'Let it trim' } },
    ])
  })

  it('is not misled by a file that was written over as it was', () => {
    expect(makerOf('src/parse.js:1')).toBe(uidOf('a'))
    expect(makerOf('src/parse.js:5')).toBe(uidOf('c'))
  })

  it('tells a line that stands everywhere by the one beside it', () => {
    expect(makerOf('other/src/parse.js:3')).toBe(uidOf('c'))
    // Both of its neighbours are others' by now.
    expect(makerOf('src/parse.js:3')).toBeUndefined()
  })

  it('takes the same line in a file of another place for another line', () => {
    expect(makerOf('other/src/parse.js:1')).toBe(uidOf('c'))
    expect(makerOf('other/src/parse.js:4')).toBe(uidOf('c'))
  })

  it('says that it does not know, where it does not', () => {
    const { code, stdout } = run('src/parse.js:4')
    expect([code, stdout]).toEqual([1, expect.stringContaining('unknown')])
    expect(run(shas.byHand)).toMatchObject({ code: 1 })
  })

  it('counts the lines of a file by session', () => {
    const { lines, unknown_lines, made_by } = blamed('src/parse.js')
    expect([lines, unknown_lines]).toEqual([5, 2])
    expect(Object.fromEntries(made_by.map((one) => [one.session_uid, one.lines]))).toEqual({
      [uidOf('a')]: 1,
      [uidOf('b')]: 1,
      [uidOf('c')]: 1,
    })
    expect(blamed('src/parse.js:1-2').lines).toBe(2)
  })

  it('finds the session of a commit: by its output, else by the lines it added', () => {
    expect(blamed(shas.shown).made_by).toMatchObject([{ session_uid: uidOf('a'), basis: 'commit' }])
    expect(blamed(shas.silent).made_by).toMatchObject([{ session_uid: uidOf('b'), basis: 'edit', lines: 1 }])
    expect(run('HEAD~2').stdout).toContain('committed it: Write a parser')
  })

  it('runs nothing that the repository configures, whichever way git would', () => {
    const hostile = join(world.base, 'hostile')
    const ran = join(world.base, 'ran')
    const evil = join(world.base, 'evil')
    writeFileSync(evil, `#!/bin/sh\necho "$@" >> ${ran}\n`, { mode: 0o755 })
    const inside = (directory: string, ...args: string[]): string =>
      execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@t', ...args], {
        cwd: directory,
        encoding: 'utf8',
        env: { PATH: process.env['PATH'], HOME: world.home },
      })
    const submodule = join(hostile, 'sub')
    mkdirSync(submodule, { recursive: true })
    for (const directory of [submodule, hostile]) inside(directory, 'init', '-q')
    writeFileSync(join(hostile, 'file'), 'a line of some length\n')
    writeFileSync(join(hostile, '.gitattributes'), '* filter=evil diff=evil\n')
    for (const text of ['one', 'two']) {
      writeFileSync(join(submodule, 'file'), text)
      inside(submodule, 'add', '-A')
      inside(submodule, 'commit', '-qm', text)
      inside(hostile, '-c', 'advice.addEmbeddedRepo=false', 'add', '-A')
      inside(hostile, 'commit', '-qm', text)
    }
    const signed = inside(hostile, 'cat-file', 'commit', 'HEAD').replace(
      '\n\n',
      '\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n',
    )
    writeFileSync(join(world.base, 'signed'), signed)
    const sha = inside(hostile, 'hash-object', '-t', 'commit', '-w', join(world.base, 'signed')).trim()
    inside(hostile, 'update-ref', 'HEAD', sha)
    inside(submodule, 'config', 'diff.external', `${evil} submodule`)
    for (const [name, value] of Object.entries({
      'filter.evil.clean': `${evil} clean`,
      'filter.evil.required': 'true',
      'diff.evil.textconv': `${evil} textconv`,
      'diff.external': `${evil} diff`,
      'diff.submodule': 'diff',
      'log.showSignature': 'true',
      'gpg.program': evil,
      'core.fsmonitor': `${evil} fsmonitor`,
      'core.pager': `${evil} pager`,
      'core.sshCommand': `${evil} ssh`,
      'core.repositoryFormatVersion': '1',
      'extensions.partialClone': 'origin',
      'remote.origin.promisor': 'true',
      'remote.origin.url': 'ssh://nowhere.invalid/x',
    }))
      inside(hostile, 'config', name, value)
    const told = (what: string): [number | null, string] => {
      const { code, stdout } = runIn(hostile, what)
      return [code, stdout]
    }
    expect(told('file')).toEqual([1, expect.stringContaining('unknown')])
    expect(told('HEAD')).toEqual([1, expect.stringContaining('unknown')])
    told('1234567890123456789012345678901234567890')
    expect(existsSync(ran) ? readFileSync(ran, 'utf8') : '').toBe('')
    // A name that git cannot be told: nothing is asked then.
    inside(hostile, 'config', 'filter.a=b.clean', `${evil} clean`)
    writeFileSync(join(hostile, '.gitattributes'), '* filter=a=b\n')
    told('file')
    expect(existsSync(ran)).toBe(false)
  })

  it('knows the lines of a file by what it was called when they were made', () => {
    git('mv', 'src/parse.js', 'src/reader.js')
    commitAll('another name')
    expect(makerOf('src/reader.js:1')).toBe(uidOf('a'))
    expect(makerOf('src/reader.js:2')).toBe(uidOf('b'))
    expect(makerOf('src/reader.js:4')).toBeUndefined()
    git('mv', 'src/reader.js', 'src/parse.js')
    commitAll('and back')
  })

  it('refuses what is neither a file nor a commit, and lines that are not there', () => {
    expect(run('nothing-like-it')).toMatchObject({ code: 1, stderr: expect.stringContaining('[NOT_FOUND]') })
    expect(run('src/parse.js:99')).toMatchObject({ code: 2, stderr: expect.stringContaining('lines 1 to 5') })
  })
})
