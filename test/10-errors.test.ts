// Every error has a code, a place, a cause where there is one, and a hint: by its type, in both forms it is told in.
import { describe, expect, it } from 'vitest'
import { errorText } from '../src/cli/exit.ts'
import { ERROR_CODES, fromSystem, fromUnforeseen, notAFile, RecollectError } from '../src/errors.ts'

const PLAIN = { where: '--since', hint: 'give a day' }

describe('an error', () => {
  it('cannot be made without a place and a hint (checked by tsc)', () => {
    // @ts-expect-error: no details
    void (() => new RecollectError('BAD_INPUT', 'wrong'))
    // @ts-expect-error: no place
    void (() => new RecollectError('BAD_INPUT', 'wrong', { hint: 'right it' }))
    // @ts-expect-error: no hint
    void (() => new RecollectError('BAD_INPUT', 'wrong', { where: 'here' }))
    // @ts-expect-error: no such code
    void (() => new RecollectError('WRONG', 'wrong', PLAIN))
    expect(new RecollectError('BAD_INPUT', 'wrong', PLAIN)).toMatchObject(PLAIN)
  })

  it('says all of it, as text and as JSON', () => {
    const error = new RecollectError('BAD_INPUT', 'no day', { ...PLAIN, cause: new Error('month 13') })
    expect(errorText(error)).toBe(
      'error: no day [BAD_INPUT]\nwhere: --since\ncause: month 13\ntry: give a day\n',
    )
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      code: 'BAD_INPUT',
      message: 'no day',
      where: '--since',
      hint: 'give a day',
      cause: 'month 13',
    })
  })

  it('does not say twice what its cause says', () => {
    const error = new RecollectError('CORRUPT', 'cannot open: not a database', {
      ...PLAIN,
      cause: new Error('not a database'),
    })
    expect(errorText(error)).not.toContain('cause:')
    expect(error.toJSON()).not.toHaveProperty('cause')
  })

  it.each([
    [new Error(''), 'Error'],
    ['thrown text', 'thrown text'],
    [0, '0'],
    [Object.create(null), 'object'],
  ])('tells a cause that is no ordinary error', (cause, words) => {
    expect(new RecollectError('IO', 'failed', { ...PLAIN, cause }).toJSON().cause).toBe(words)
  })

  it('of the system has a hint, also where its number is not known', () => {
    for (const code of ['ENOENT', 'EACCES', 'EADDRINUSE', 'EWHATEVER', undefined])
      for (const use of ['read', 'write'] as const) {
        const error = fromSystem(Object.assign(new Error('why'), { code }), 'cannot do it', '/a/path', use)
        expect(error).toMatchObject({ where: '/a/path', hint: expect.stringMatching(/./) })
        expect(Object.keys(ERROR_CODES)).toContain(error.code)
        expect(error.toJSON().cause).toBe('why')
      }
  })

  it('that nobody foresaw says where in the program it was, and what to do', () => {
    const error = fromUnforeseen(new TypeError('x is no function'))
    expect(error.toJSON()).toEqual({
      code: 'INTERNAL',
      message: 'TypeError: x is no function',
      where: expect.stringContaining('10-errors.test.ts'),
      hint: expect.stringContaining('report'),
    })
    expect(fromUnforeseen('text')).toMatchObject({ message: 'text', where: 'recollect' })
    const ours = notAFile('/a/path')
    expect(fromUnforeseen(ours)).toBe(ours)
  })
})
