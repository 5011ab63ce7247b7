// Commits of the session history with the real git: in the background, of one file, and never in the way of an append.
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type RecollectError, type SessionGitOptions, SessionHistory } from '../src/record/index.ts'

let dir: string
let errors: RecollectError[]

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'recollect-lineage-git-'))
  errors = []
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const open = (options: SessionGitOptions = {}) =>
  new SessionHistory(dir, {
    flush: 'os',
    git: { onGitError: (error) => errors.push(error), ...options },
  })
const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
    cwd: dir,
    encoding: 'utf8',
  }).trim()
const lines = (text: string) => (text === '' ? [] : text.split('\n'))
const committed = () => lines(git('show', 'HEAD:session_history.jsonl'))

it('is off unless asked for', async () => {
  git('init', '-q')
  const history = new SessionHistory(dir)
  await history.saveSessionId('a')
  await history.idle()
  expect(git('status', '--porcelain', '--', 'session_history.jsonl')).toBe('?? session_history.jsonl')
})

it('commits each event after it is written, with an identity of its own only where there is none', async () => {
  git('init', '-q')
  const history = open()
  await history.saveSessionId('a')
  await history.idle()
  expect(committed()).toHaveLength(1)
  expect(git('log', '-1', '--format=%an <%ae> %s')).toBe('recollect <recollect@localhost> Session a created')
  git('config', 'user.name', 'Me')
  git('config', 'user.email', 'me@example.org')
  await history.saveSessionId('b')
  await history.idle()
  expect(committed()).toHaveLength(2)
  expect(git('log', '-1', '--format=%an <%ae> %s')).toBe('Me <me@example.org> Session b compacted')
  expect(errors).toEqual([])
})

it('shares a commit among events that come fast', async () => {
  git('init', '-q')
  const history = open()
  await Promise.all(Array.from({ length: 40 }, (_, i) => history.backgroundFork(`f${i}`)))
  await history.idle()
  expect(committed()).toHaveLength(40)
  expect(Number(git('rev-list', '--count', 'HEAD'))).toBeLessThan(20)
  expect(git('status', '--porcelain', '--', 'session_history.jsonl')).toBe('')
  expect(errors).toEqual([])
})

it('leaves other staged and changed files as they are', async () => {
  git('init', '-q')
  writeFileSync(join(dir, 'mine.txt'), 'one')
  git('add', 'mine.txt')
  git('commit', '-qm', 'mine')
  writeFileSync(join(dir, 'mine.txt'), 'two')
  git('add', 'mine.txt')
  writeFileSync(join(dir, 'new.txt'), 'new')
  git('add', 'new.txt')
  const history = open()
  await history.saveSessionId('a')
  await history.idle()
  expect(errors).toEqual([])
  expect(git('show', '--format=', '--name-only', 'HEAD')).toBe('session_history.jsonl')
  expect(lines(git('diff', '--cached', '--name-only'))).toEqual(['mine.txt', 'new.txt'])
})

it('runs no hooks, asks for no signature, and ignores the repository of a surrounding git', async () => {
  git('init', '-q')
  for (const hook of ['pre-commit', 'commit-msg', 'post-commit']) {
    writeFileSync(join(dir, '.git/hooks', hook), '#!/bin/sh\ntouch hook-ran\nexit 1\n')
    chmodSync(join(dir, '.git/hooks', hook), 0o755)
  }
  git('config', 'commit.gpgSign', 'true')
  git('config', 'gpg.program', '/bin/false')
  process.env['GIT_DIR'] = join(dir, 'nowhere')
  try {
    const history = open()
    await history.saveSessionId('a')
    await history.idle()
  } finally {
    delete process.env['GIT_DIR']
  }
  expect(errors).toEqual([])
  expect(committed()).toHaveLength(1)
  expect(existsSync(join(dir, 'hook-ran'))).toBe(false)
})

it('works from a directory below the top of the repository', async () => {
  git('init', '-q')
  mkdirSync(join(dir, 'bot'))
  const history = new SessionHistory(join(dir, 'bot'), { git: { onGitError: (error) => errors.push(error) } })
  await history.saveSessionId('a')
  await history.idle()
  expect(errors).toEqual([])
  expect(git('ls-files')).toBe('bot/session_history.jsonl')
})

it('waits for an index that another git holds', async () => {
  git('init', '-q')
  const lock = join(dir, '.git/index.lock')
  writeFileSync(lock, '')
  const history = open()
  await history.saveSessionId('a')
  setTimeout(() => rmSync(lock), 300)
  await history.idle()
  expect(errors).toEqual([])
  expect(committed()).toHaveLength(1)
})

it('two writers in one repository both get their lines committed', async () => {
  git('init', '-q')
  const [one, two] = [open(), open()]
  await Promise.all([
    ...Array.from({ length: 5 }, (_, i) => one.backgroundFork(`p${i}`)),
    ...Array.from({ length: 5 }, (_, i) => two.backgroundFork(`q${i}`)),
  ])
  await Promise.all([one.idle(), two.idle()])
  expect(errors).toEqual([])
  expect(committed()).toHaveLength(10)
})

it.each<[string, SessionGitOptions, () => void]>([
  ['the directory is no repository', {}, () => undefined],
  ['there is no git', { command: 'git-that-is-not-installed' }, () => undefined],
  [
    'the file is ignored',
    {},
    () => {
      git('init', '-q')
      writeFileSync(join(dir, '.gitignore'), '*.jsonl\n')
    },
  ],
  ['the repository is broken', {}, () => writeFileSync(join(dir, '.git'), 'gitdir: nowhere\n')],
])('reports it, and the append stands, when %s', async (_what, options, arrange) => {
  arrange()
  const history = open(options)
  expect(await history.saveSessionId('a')).toMatchObject({ event: 'created' })
  expect(await history.current()).toBe('a')
  await history.idle()
  expect(errors).toHaveLength(1)
  expect(errors[0]).toMatchObject({
    code: 'IO',
    where: history.historyPath,
    hint: expect.stringContaining('written'),
  })
  expect(await history.read()).toHaveLength(1)
})

it('catches up with the next event once git works', async () => {
  const history = open()
  await history.saveSessionId('a')
  await history.idle()
  git('init', '-q')
  await history.saveSessionId('b')
  await history.idle()
  expect(errors).toHaveLength(1)
  expect(committed()).toHaveLength(2)
})

it('makes the repository only when told to', async () => {
  const history = open({ init: true })
  await history.saveSessionId('a')
  await history.idle()
  expect(errors).toEqual([])
  expect(git('ls-files')).toBe('session_history.jsonl')
})

it('warns once when nobody listens, and a listener that throws harms nothing', async () => {
  const warnings: string[] = []
  const onWarning = (warning: Error & { code?: string }) => {
    if (warning.code === 'RECOLLECT_GIT') warnings.push(warning.message)
  }
  process.on('warning', onWarning)
  try {
    const silent = new SessionHistory(dir, { git: true })
    for (const id of ['a', 'b']) {
      await silent.saveSessionId(id)
      await silent.idle()
    }
    await new Promise(setImmediate)
    expect(warnings).toHaveLength(1)
    const throwing = open({
      onGitError: () => {
        throw new Error('from the listener')
      },
    })
    await throwing.saveSessionId('c')
    await throwing.idle()
    await new Promise(setImmediate)
    expect(warnings[1]).toContain('from the listener')
  } finally {
    process.off('warning', onWarning)
  }
})

it('does not hold an append up: a git that hangs is still running when the append is done', async () => {
  const command = join(dir, 'slow-git')
  writeFileSync(command, `#!/bin/sh\nwhile [ ! -e "${dir}/go" ]; do sleep 0.02; done\nexec git "$@"\n`)
  chmodSync(command, 0o755)
  git('init', '-q')
  const history = open({ command })
  await history.saveSessionId('a')
  await history.saveSessionId('b')
  expect(await history.read()).toHaveLength(2)
  expect(() => git('rev-parse', '--verify', '-q', 'HEAD')).toThrow()
  writeFileSync(join(dir, 'go'), '')
  await history.idle()
  expect(committed()).toHaveLength(2)
})
