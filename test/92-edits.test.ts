// The files a session changed, edit by edit: the shapes of calls, and a session with all that can befall an edit.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { changesOf, editsIn } from '../src/event/edits.ts'
import { editsOf } from '../src/query/edits.ts'
import { assistant, call, type Fields, result, SESSION, user, write } from './setup/claude.ts'
import { World } from './setup/sweeping.ts'

const shown = (body: unknown) =>
  changesOf(editsIn(body)).map(({ path, before, after, isWhole }) => [path, before, after, isWhole])

test('a line taken away may look like the head of a diff, and an empty one is a line', () => {
  const patch = [
    '*** Begin Patch',
    '*** Update File: q.sql',
    '@@',
    ' select 1;',
    '--- old remark',
    '+++ new remark',
    '',
    ' select 2;',
    '*** End of File',
    '*** End Patch',
  ].join('\n')
  expect(shown({ input: patch })).toEqual([
    ['q.sql', 'select 1;\n-- old remark\n\nselect 2;', 'select 1;\n++ new remark\n\nselect 2;', false],
  ])
  const diff = '--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1 @@\n a\n--- b\n\\ No newline at end of file\n'
  expect(shown({ changes: { 'q.sql': { type: 'update', unified_diff: diff } } })).toEqual([
    ['q.sql', 'a\n-- b', 'a', false],
  ])
})

test('a deleted file goes, whichever way that is told', () => {
  const gone = [['a', 'old', '', true]]
  expect(shown({ changes: { a: { type: 'delete', content: 'old' } } })).toEqual(gone)
  expect(shown({ changes: { a: { delete: { content: 'old' } } } })).toEqual(gone)
  expect(shown({ changes: { a: { add: { content: 'new' } } } })).toEqual([['a', '', 'new', true]])
})

test('one cell is not the whole notebook', () => {
  expect(shown({ input: { notebook_path: 'n.ipynb', cell_id: 'c', new_source: 'x' } })).toEqual([
    ['n.ipynb', '', 'x', false],
  ])
})

test('of a session: several changes in one call, a repeated edit, none of those that were only copied', async () => {
  const edit = { file_path: '/w/a', old_string: 'one', new_string: '1' }
  const many = {
    file_path: '/w/b',
    edits: [
      { old_string: 'one', new_string: '1' },
      { old_string: 'two', new_string: '2' },
    ],
  }
  const uuid = (at: number): string => `00000000-0000-4000-8000-00000000000${at}`
  const done = (at: number, id: string, outcome: Fields): Fields =>
    user(uuid(at), uuid(at - 1), [result(id, 'done')], { toolUseResult: outcome })
  const records = [
    user(uuid(1), null, 'go'),
    assistant(uuid(2), uuid(1), [call('c1', 'Edit', edit)]),
    user(uuid(3), uuid(2), [result('c1', 'File has not been read yet', true)]),
    assistant(uuid(4), uuid(3), [call('c2', 'Edit', edit)]),
    done(5, 'c2', { originalFile: 'one two' }),
    assistant(uuid(6), uuid(5), [call('c3', 'MultiEdit', many)]),
    done(7, 'c3', { originalFileContents: 'one two three' }),
  ]
  const world = new World()
  const project = join(world.home, '.claude', 'projects', '-w')
  write(join(project, `${SESSION}.jsonl`), records)
  const fork = SESSION.replaceAll('1', '9')
  await world.sweep()
  write(
    join(project, `${fork}.jsonl`),
    records.map((one) => ({ ...one, sessionId: fork })),
  )
  await world.sweep()
  const found = (session: string) =>
    world.read((handle) =>
      editsOf(handle, `claude:${session}`).files.map(({ path, steps }) => [
        path,
        steps.map((step) => (step.is_whole ? step.after : step.has_failed ? 'failed' : 'part')),
      ]),
    )
  expect(found(SESSION)).toEqual([
    ['/w/a', ['failed', '1 two']],
    ['/w/b', ['1 2 three']],
  ])
  expect(found(fork)).toEqual([])
})
