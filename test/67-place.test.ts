// Where a session belongs: repository, domain and task, from directories as git really makes them.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { ADAPTERS } from '../src/adapters/index.ts'
import { placeResolver } from '../src/sources/place.ts'
import { type TaskPlace, taskFinder } from '../src/sources/task.ts'
import { temporary } from './setup/sweeping.ts'

let base: string
const git = (directory: string, ...args: string[]): void => {
  execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@y', ...args], {
    cwd: directory,
    stdio: 'ignore',
  })
}
beforeAll(() => {
  base = temporary('place')
  mkdirSync(join(base, 'work', 'shop', 'src', 'deep'), { recursive: true })
  git(join(base, 'work', 'shop'), 'init', '-q')
  git(join(base, 'work', 'shop'), 'commit', '-q', '--allow-empty', '-m', 'x')
  git(join(base, 'work', 'shop'), 'worktree', 'add', '-q', join(base, 'trees', 'feature-7'))
  mkdirSync(join(base, 'plain', 'notes'), { recursive: true })
})

const placeOf = (cwd: string | null, gitRemote: string | null = null, domains: Record<string, string> = {}) =>
  placeResolver(domains, ADAPTERS)({ sessionUid: 'claude:1', cwd, gitRemote })

describe('the repository', () => {
  it('is the one that holds the directory', () => {
    expect(placeOf(join(base, 'work', 'shop')).repo).toBe('shop')
    expect(placeOf(join(base, 'work', 'shop', 'src', 'deep')).repo).toBe('shop')
  })

  it('of a worktree is the one it belongs to', () => {
    expect(placeOf(join(base, 'trees', 'feature-7')).repo).toBe('shop')
  })

  it('is the directory itself outside of git, and when it is gone', () => {
    expect(placeOf(join(base, 'plain', 'notes')).repo).toBe('notes')
    expect(placeOf(join(base, 'gone', 'project')).repo).toBe('project')
    expect(placeOf(null)).toEqual({ repo: null, domain: null })
  })

  it('of a working tree that the agent made inside it is the same when both are gone', () => {
    expect(placeOf('/gone/shop/.claude/worktrees/quick-fox').repo).toBe('shop')
    expect(placeOf('/gone/shop/.claude/worktrees/quick-fox/src').repo).toBe('shop')
    expect(placeOf('C:\\gone\\shop\\.claude\\worktrees\\quick-fox').repo).toBe('shop')
    expect(placeOf(join(base, 'work', 'shop', '.claude', 'worktrees', 'gone')).repo).toBe('shop')
    expect(placeOf('/gone/worktrees/quick-fox').repo).toBe('quick-fox')
  })

  it('of a session on Windows, seen from elsewhere, is the last name of its directory', () => {
    expect(placeOf('C:\\work\\thing').repo).toBe('thing')
    expect(placeOf('\\\\wsl.localhost\\Ubuntu\\home\\me\\thing\\').repo).toBe('thing')
    expect(placeOf('/srv/a\\b').repo).toBe('a\\b')
  })

  it('of a worktree beside a bare repository is not called after the place of its objects', () => {
    const shop = join(base, 'work', 'shop')
    git(base, 'clone', '-q', '--bare', shop, join(base, 'hidden', 'store', '.bare'))
    git(join(base, 'hidden', 'store', '.bare'), 'worktree', 'add', '-q', join(base, 'hidden', 'store', 'one'))
    expect(placeOf(join(base, 'hidden', 'store', 'one')).repo).toBe('store')
    git(base, 'clone', '-q', '--bare', shop, join(base, 'served', 'till.git'))
    git(join(base, 'served', 'till.git'), 'worktree', 'add', '-q', join(base, 'served', 'two'))
    expect(placeOf(join(base, 'served', 'two')).repo).toBe('till')
  })

  it.each([
    ['git@github.com:acme/shop.git', 'shop'],
    ['https://github.com/acme/shop.git', 'shop'],
    ['https://user:pw@host:8443/a/b/shop/', 'shop'],
    ['ssh://git@host/shop', 'shop'],
    ['/srv/git/shop.git', 'shop'],
  ])('is named by the remote %s where the agent wrote it down', (remote, name) => {
    expect(placeOf('/gone/elsewhere', remote).repo).toBe(name)
  })

  it.each(['/', '', '.', 'relative/dir', '/a\0b', `/${'x'.repeat(5000)}`, '/etc/passwd/below', '\ud800'])(
    'is told for any directory: %j',
    (cwd) => {
      expect(() => placeOf(cwd)).not.toThrow()
    },
  )

  it('survives a broken .git file', () => {
    const directory = join(base, 'broken')
    mkdirSync(directory)
    writeFileSync(join(directory, '.git'), 'gitdir: /nowhere\n')
    expect(placeOf(directory).repo).toBe('broken')
    writeFileSync(join(directory, '.git'), 'nonsense')
    expect(placeOf(directory).repo).toBe('broken')
  })
})

describe('the domain', () => {
  it('comes from the name of the repository, or its path', () => {
    expect(placeOf(join(base, 'work', 'shop', 'src'), null, { shop: 'sales' }).domain).toBe('sales')
    expect(
      placeOf(join(base, 'work', 'shop', 'src'), null, { [join(base, 'work', 'shop')]: 'sales' }).domain,
    ).toBe('sales')
    expect(placeOf(join(base, 'trees', 'feature-7'), null, { shop: 'sales' }).domain).toBe('sales')
    expect(placeOf(join(base, 'plain', 'notes'), null, { shop: 'sales' }).domain).toBeNull()
  })

  it.each(['__proto__', 'constructor', 'toString'])(
    'of a directory called %s is nothing by itself',
    (name) => {
      expect(placeOf(`/gone/${name}`)).toEqual({ repo: name, domain: null })
    },
  )
})

describe('the task', () => {
  const find = taskFinder(['\\b([A-Z]{2,}-\\d+)\\b', '#(\\d+)'])
  it.each([
    ['fix/SHOP-12-basket', 'SHOP-12'],
    ['see #77 and #78', '77'],
    ['#5 then OPS-9', 'OPS-9'],
    ['nothing here', undefined],
    ['', undefined],
  ])('in %s is %s', (text, task) => {
    expect(find(text, 'prompt')).toBe(task)
  })

  it.each<[TaskPlace, string, string | undefined]>([
    ['prompt', 'decode it as UTF-8 and hash it with SHA-256', undefined],
    ['prompt', 'names like ABC-123 must be escaped', undefined],
    ['prompt', 'issue UTF-8 decoding', undefined],
    ['prompt', 'the first 3 of #12 rows', undefined],
    ['prompt', 'ticket ABC-123: the basket is empty', 'ABC-123'],
    ['prompt', 'see issue #77', '#77'],
    ['prompt', 'Address the review of PR #8019, please', '#8019'],
    ['prompt', 'https://github.com/acme/shop/issues/12#issuecomment-3', 'acme/shop#12'],
    ['prompt', 'https://git.acme.dev/team/web/shop/-/merge_requests/9', 'team/web/shop#9'],
    ['prompt', 'https://acme.atlassian.net/browse/SHOP-12', 'SHOP-12'],
    ['prompt', '/team:plan-implement 7807', '#7807'],
    ['prompt', '/team:pr-address --pr 8019', '#8019'],
    ['prompt', '/compact 7807', undefined],
    ['prompt', 'it closes #5', '#5'],
    ['branch', 'fix/SHOP-12-basket', 'SHOP-12'],
    ['branch', 'AGENTIC-WP-0002-T01', 'AGENTIC-WP-0002-T01'],
    ['branch', 'fix/UTF-8-decoding', undefined],
    ['branch', 'feat/LLAMA-3-prompts', undefined],
    ['branch', 'feature/issue-123-login', '#123'],
    ['branch', 'planned/add-worker-02-22-0447', undefined],
    ['branch', 'release-2026-01', undefined],
    ['branch', 'fix-check-draft-pr-02-24-0357', undefined],
    ['branch', 'fix-pr-12-24-0357', undefined],
    ['directory', '/home/me/trees/SHOP-12', 'SHOP-12'],
    ['directory', '/home/me/SHA-256', undefined],
  ])('by default in a %s %j is %j', (place, text, task) => {
    expect(taskFinder([])(text, place)).toBe(task)
  })

  it.each<[string, string | undefined]>([
    ['❯ till plan 8\n● Bash(till show)\n  ⎿  done with plan #9\n\nrecover and keep going', undefined],
    ['❯ till plan 8\n  ⎿  done with plan #9\n\ngo on with issue #4', '#4'],
    ['fix issue #4, it says\n```\nwarning: see issue #9\n```', '#4'],
    ['it says\n```\nsee issue #9\n```\nwhy?', undefined],
    ['$ gh pr list\rerror: no PR #12\rcan you look at issue #4', '#4'],
  ])('is not one that was pasted from a terminal: %j', (text, task) => {
    expect(taskFinder([])(text, 'prompt')).toBe(task)
  })

  it('is found by configured patterns first, in any place', () => {
    for (const place of ['branch', 'directory', 'prompt'] as const)
      expect(taskFinder(['\\bSHOP-\\d+'])('as in SHOP-7, issue #3', place)).toBe('SHOP-7')
  })
})
