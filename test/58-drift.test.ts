// What the drift check calls new: kinds of records and fields that our fixtures do not have.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, it } from 'vitest'
import { newIn, shapesOf } from '../scripts/agents/shapes.mjs'
import { temporary } from './setup/temporary.ts'

function written(name: string, ...records: unknown[]): string {
  const path = join(temporary('shapes'), name)
  writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(''))
  return path
}

const message = (role: string, more = {}): unknown => ({
  type: 'message',
  id: 'a1',
  message: { role, ...more },
})

describe('records', () => {
  it('that are as they were are no news, whatever their values and what the model put in', () => {
    const known = written('a.jsonl', message('user', { text: 'one', input: { a: 1 } }))
    const now = written('b.jsonl', message('user', { text: 'two', input: { b: [{ c: 1 }] } }))
    expect(newIn(shapesOf([now]), shapesOf([known]))).toEqual({ kinds: [], fields: [] })
  })

  it('of a new kind are told by kind, new fields of a known one by name, without what is in them', () => {
    const known = shapesOf([written('a.jsonl', message('user'), message('assistant'))])
    const usage = { input: 1, more: { deep: 1 } }
    const now = written(
      'b.jsonl',
      message('user', { usage }),
      message('assistant', { usage }),
      message('oracle'),
    )
    expect(newIn(shapesOf([now]), known)).toEqual({
      kinds: ['message:oracle'],
      fields: [['.message.usage', ['message:user', 'message:assistant']]],
    })
  })

  it('in maps by id are one, and lines that are torn none', () => {
    const path = written('a.jsonl', {
      type: 'files',
      by: { '4711abcd': { size: 1 }, '/w/b.ts': { size: 2 } },
    })
    writeFileSync(path, '{"type":"torn', { flag: 'a' })
    expect([...shapesOf([path])]).toEqual([['files', new Set(['.type', '.by', '.by.*', '.by.*.size'])]])
  })

  it('of a database are its tables and the documents in them', () => {
    const path = join(temporary('shapes'), 'a.db')
    const database = new DatabaseSync(path)
    database.exec('CREATE TABLE part (id TEXT, data TEXT)')
    database.prepare('INSERT INTO part VALUES (?, ?)').run('p1', '{"type":"text","text":"hello"}')
    database.close()
    expect([...shapesOf([path])]).toEqual([
      ['table part', new Set(['.id', '.data'])],
      ['part.data text', new Set(['.type', '.text'])],
    ])
  })
})
