// The stored body of an event: what is told comes back as it was told, costs next to nothing where the record says it too, and
// holds no secret that the record lost.

import { describe, expect, it } from 'vitest'
import { bodyText, packTold, rawOf, readBody, type Told } from '../src/event/body.ts'
import { changesOf, type Edit } from '../src/event/edits.ts'
import fc from './setup/properties.ts'

const asIs = { text: (text: string) => text, value: (value: unknown) => value }
const store = (told: Told, raw: unknown): string =>
  bodyText(packTold(told, raw, raw, asIs).line, JSON.stringify(raw))
const LONG = 'a sentence that is long enough to be worth a pointer, and then some'

describe('what is told', () => {
  it('comes back, whatever the record looks like', () => {
    const text = fc.oneof(
      fc.string(),
      fc.constantFrom(LONG, `${LONG}\n${LONG}`, 'short', '', '{"a":1}', '[1'),
    )
    const raw = fc.dictionary(
      fc.string(),
      fc.oneof(text, fc.array(fc.record({ text })), fc.json(), fc.anything()),
    )
    fc.assert(
      fc.property(raw, text, text, fc.jsonValue(), (record, said, command, input) => {
        const plain = JSON.parse(JSON.stringify({ ...record, said, input })) as Record<string, unknown>
        const told: Told = {
          said,
          command,
          input: plain['input'],
          edits: [{ path: 'p', before: said, after: command }],
        }
        const back = readBody(store(told, plain))
        expect(back.said).toBe(said)
        expect(back.command).toBe(command)
        expect(back.edits).toEqual([{ path: 'p', before: said, after: command }])
        expect(back.raw).toEqual(plain)
      }),
    )
  })

  it.each<[string, unknown, string]>([
    ['a string of the record', { content: [{ text: LONG }] }, LONG],
    ['a part of one', { output: `Output:\n${LONG}\n(done)` }, LONG],
    [
      'several blocks',
      { content: [{ text: LONG }, { text: 'and' }, { text: LONG }] },
      `${LONG}\nand\n${LONG}`,
    ],
    ['a string in JSON in a string', { arguments: JSON.stringify({ cmd: LONG }) }, LONG],
  ])('is a pointer where it is %s', (_, raw, said) => {
    const { line, told } = packTold({ said }, raw, raw, asIs)
    expect(line).not.toContain('sentence')
    expect(told.said).toBe(said)
    expect(readBody(bodyText(line, JSON.stringify(raw))).said).toBe(said)
  })

  it('has no secret that was taken out of the record', () => {
    const secret = 'hunter2hunter2'
    const cleaner = {
      text: (text: string) => text.replaceAll(secret, '[REDACTED]'),
      value: (value: unknown) =>
        JSON.parse(JSON.stringify(value).replaceAll(secret, '[REDACTED]')) as unknown,
    }
    for (const raw of [
      { text: `${LONG} ${secret}` },
      { output: `Output:\n${LONG} ${secret}\nmore` },
      { arguments: JSON.stringify({ cmd: `${LONG} ${secret}` }) },
      { other: 'the words stand nowhere in it' },
    ]) {
      const told: Told = { said: `${LONG} ${secret}`, command: `${LONG} ${secret}`, input: { token: secret } }
      const { line, told: clean } = packTold(told, raw, cleaner.value(raw), cleaner)
      expect(line + JSON.stringify(clean)).not.toContain(secret)
      expect(readBody(bodyText(line, JSON.stringify(cleaner.value(raw)))).said).toBe(`${LONG} [REDACTED]`)
    }
  })

  it('may be nothing; and a record alone is read by its shape', () => {
    expect(readBody(bodyText('', '{"text":"x"}'))).toEqual({ raw: { text: 'x' } })
    expect(readBody('{"type":"tool_use","input":{"command":"ls -l"}}')).toMatchObject({ command: 'ls -l' })
    expect(rawOf('{"text":"old"}')).toEqual({ text: 'old' })
  })
})

it('a patch is kept as it is, and adds up to its changes', () => {
  const patch =
    '*** Begin Patch\n*** Update File: a.ts\n@@\n-old line of the file\n+new line of the file\n*** End Patch'
  const raw = { input: patch }
  const edits: Edit[] = [{ path: '', patch }]
  const { line } = packTold({ edits }, raw, raw, asIs)
  expect(line).not.toContain('Begin Patch')
  const back = readBody(bodyText(line, JSON.stringify(raw)))
  expect(changesOf(back.edits ?? [])).toEqual([
    {
      path: 'a.ts',
      before: 'old line of the file',
      after: 'new line of the file',
      isWhole: false,
      isAll: false,
    },
  ])
})
