// The same failure with other paths, lines, ids, times is one fingerprint; another failure is another.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { failureOf } from '../src/digest/errors.ts'

const word = fc.stringMatching(/^[a-z]{2,9}$/)
const file = fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9_-]{0,11}$/)
const number = fc.nat(99_999)
const path = fc
  .tuple(
    fc.constantFrom('/', '/home/', '/tmp/x-', 'C:\\', 'src/', './', '../', '~/'),
    fc.array(file, { minLength: 1, maxLength: 4 }),
    fc.constantFrom('ts', 'py', 'rs', 'go', 'java'),
  )
  .map(([start, parts, ending]) => {
    const slash = start.includes('\\') ? '\\' : '/'
    return `${start}${parts.join(slash)}.${ending}`
  })
const hex = fc.stringMatching(/^[0-9a-f]{12,40}$/).filter((text) => /\d/.test(text) && /[a-f]/.test(text))
const time = fc
  .date({ noInvalidDate: true, min: new Date(0), max: new Date('2099-01-01') })
  .map((date) => date.toISOString())
const duration = fc
  .tuple(number, fc.constantFrom('ms', 's', ' seconds', 'm'))
  .map(([n, unit]) => `${n}${unit}`)
const port = fc.integer({ min: 1, max: 65_535 })
const host = fc
  .tuple(fc.constantFrom('127.0.0.1', 'localhost', '10.0.0.7'), port)
  .map(([name, n]) => `${name}:${n}`)
const temporary = fc.stringMatching(/^[A-Za-z0-9]{6,10}$/).map((name) => `/tmp/tmp.${name}`)

interface Case {
  path: string
  line: number
  column: number
  id: string
  uuid: string
  time: string
  duration: string
  host: string
  tmp: string
  address: string
}
const varying: fc.Arbitrary<Case> = fc.record({
  path,
  line: number,
  column: number,
  id: hex,
  uuid: fc.uuid(),
  time,
  duration,
  host,
  tmp: temporary,
  address: number.map((n) => `0x${n.toString(16)}`),
})

const MESSAGES: Record<string, (c: Case) => string> = {
  module: (c) =>
    `node:internal/modules/cjs/loader:${c.line}\n  throw err;\n  ^\n\nError: Cannot find module '${c.path}'\n    at Module._load (node:internal:${c.line}:${c.column})`,
  typescript: (c) => `${c.path}(${c.line},${c.column}): error TS2304: Cannot find name 'foo'.`,
  typescriptOther: (c) =>
    `${c.path}(${c.line},${c.column}): error TS2322: Type 'a' is not assignable to type 'b'.`,
  python: (c) =>
    `Traceback (most recent call last):\n  File "${c.path}", line ${c.line}, in <module>\n    x()\nFileNotFoundError: [Errno 2] No such file or directory: '${c.path}'`,
  rust: (c) => `error[E0308]: mismatched types\n  --> ${c.path}:${c.line}:${c.column}`,
  rustOther: (c) => `error[E0425]: cannot find value in this scope\n  --> ${c.path}:${c.line}:${c.column}`,
  connection: (c) => `${c.time} Error: connect ECONNREFUSED ${c.host}`,
  timeout: (c) => `command timed out after ${c.duration}`,
  request: (c) => `Error: request ${c.uuid} failed after ${c.duration}`,
  object: (c) => `fatal: bad object ${c.id}`,
  temporary: (c) => `mktemp: cannot create ${c.tmp}: No space left on device`,
  segfault: (c) => `Error: segmentation fault at ${c.address}`,
  shell: () => 'bash: line 1: rg: command not found',
  shellOther: () => 'bash: line 1: jq: command not found',
  code404: () => 'HTTP404Error: page gone',
}
const names = Object.keys(MESSAGES)
const print = (name: string, made: Case, tool = 'Bash'): string =>
  failureOf(tool, (MESSAGES[name] as (c: Case) => string)(made)).fingerprint

describe('fingerprints', () => {
  it('are equal whatever varies', () => {
    fc.assert(
      fc.property(fc.constantFrom(...names), varying, varying, (name, one, other) => {
        expect(print(name, one)).toBe(print(name, other))
      }),
      { numRuns: 3000 },
    )
  })

  it('differ between different failures', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...names),
        fc.constantFrom(...names),
        varying,
        varying,
        (name, other, a, b) => {
          fc.pre(name !== other)
          expect(print(name, a)).not.toBe(print(other, b))
        },
      ),
      { numRuns: 1000 },
    )
  })

  it('differ with the words of the message and with the tool', () => {
    fc.assert(
      fc.property(word, word, varying, (one, other, made) => {
        fc.pre(one !== other)
        const text = (about: string): string =>
          `${made.path}:${made.line}: error: unknown ${about} in ${made.path}`
        expect(failureOf('Bash', text(one)).fingerprint).not.toBe(failureOf('Bash', text(other)).fingerprint)
        expect(failureOf('Read', text(one)).fingerprint).not.toBe(failureOf('Edit', text(one)).fingerprint)
      }),
    )
  })

  it('are one for shells of different programs, with or without colours and the wrapping of the client', () => {
    const plain = failureOf('Bash', 'npm ERR! missing script: tset').fingerprint
    expect(
      failureOf(
        'exec_command',
        'Exit code: 1\nWall time: 0.3 seconds\nOutput:\nnpm ERR! missing script: tset',
      ).fingerprint,
    ).toBe(plain)
    expect(
      failureOf('run_terminal_command', '\u001b[31mnpm ERR! missing script: tset\u001b[0m').fingerprint,
    ).toBe(plain)
  })

  it('of silent failures tell the programs apart, and the codes', () => {
    const silent = (command: string, code = 1): string =>
      failureOf('shell', `Exit code: ${code}\nOutput:\n`, command).fingerprint
    expect(silent('rg -n foo src')).toBe(silent('cd /x && rg bar'))
    expect(silent('rg foo')).not.toBe(silent('diff a b'))
    expect(silent('rg foo')).not.toBe(silent('rg foo', 2))
  })

  it('are made of the telling line, whatever stands around it', () => {
    const noise = fc.constantFrom(
      '> app@1.0.0 build',
      '    at f (x.js:1:2)',
      '-----',
      '',
      '  ^^^^',
      'warning: old',
    )
    fc.assert(
      fc.property(fc.array(noise, { maxLength: 8 }), fc.array(noise, { maxLength: 8 }), (before, after) => {
        const text = [...before, 'TypeError: x is not a function', ...after].join('\n')
        expect(failureOf('Bash', text)).toEqual(failureOf('Bash', 'TypeError: x is not a function'))
      }),
    )
  })

  it('exist for any text, with a short sample', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (text) => {
        const failure = failureOf(null, text)
        expect(failure.fingerprint).toMatch(/^e1:[0-9a-f]{16}$/)
        expect(failure.sample.length).toBeLessThanOrEqual(200)
      }),
    )
  })

  it('of a huge output cost little', () => {
    const huge = `${'x/y:1 '.repeat(500_000)}\nTypeError: broken`
    expect(failureOf('Bash', huge).sample).toBe('TypeError: broken')
  })
})
