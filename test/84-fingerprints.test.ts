// The same failure with other paths, lines, ids, times is one fingerprint; another failure is another.

import { describe, expect, it } from 'vitest'
import { failureOf, isCut } from '../src/digest/errors.ts'
import fc from './setup/properties.ts'

const word = fc.stringMatching(/^[a-z]{2,9}$/)
const file = fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9_-]{0,11}$/)
const number = fc.nat(99_999)
const path = fc
  .tuple(
    fc.constantFrom(
      '/',
      '/home/',
      '/tmp/x-',
      'C:\\',
      'd:\\',
      '\\\\host\\',
      'src/',
      './',
      '../',
      '~/',
      '$HOME/',
      '%TEMP%\\',
    ),
    fc.array(file, { minLength: 1, maxLength: 4 }),
    fc.constantFrom('ts', 'py', 'rs', 'go', 'java'),
  )
  .map(([start, parts, ending]) => {
    const slash = start.includes('\\') ? '\\' : '/'
    return `${start}${parts.join(slash)}.${ending}`
  })
/** Also the one in thirty that has digits only; one without any looks like a word. */
const hex = fc.stringMatching(/^[0-9a-f]{7,40}$/).filter((text) => /\d/.test(text))
const date = fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('2099-01-01') })
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const clock = (at: Date): string => at.toISOString().slice(11, 19)
const TIMES: ((at: Date) => string)[] = [
  (at) => at.toISOString(),
  (at) => at.toISOString().replace('T', ' ').slice(0, 19),
  (at) => `${at.toISOString().slice(0, 10).replaceAll('-', '/')} ${clock(at)}`,
  (at) => `${MONTHS[at.getUTCMonth()]} ${String(at.getUTCDate()).padStart(2)} ${clock(at)}`,
  (at) => `${at.getUTCDate()}/${MONTHS[at.getUTCMonth()]}/2026:${clock(at)} +0000`,
  (at) => at.toUTCString(),
  (at) => clock(at),
]
const time = fc.tuple(date, fc.constantFrom(...TIMES)).map(([at, form]) => form(at))
const duration = fc.oneof(
  fc.tuple(number, fc.constantFrom('ms', 's', ' seconds', 'm')).map(([n, unit]) => `${n}${unit}`),
  fc.tuple(number, fc.nat(59)).map(([m, s]) => `${m}m${s}.5s`),
  fc.tuple(number, fc.nat(59)).map(([m, s]) => `${m}m ${s}s`),
)
const port = fc.integer({ min: 1, max: 65_535 })
const host = fc
  .tuple(
    fc.constantFrom('127.0.0.1', 'localhost', '10.0.0.7', '[::1]', '::', 'db.internal', 'api.example.com'),
    port,
  )
  .map(([name, n]) => `${name}:${n}`)
const temporary = fc.stringMatching(/^[A-Za-z0-9]{6,10}$/).map((name) => `/tmp/tmp.${name}`)

const colour = fc.constantFrom(
  '',
  '\u001b[31m',
  '\u001b[1;31;48;5;9m',
  '\u001b[0m\u001b(B',
  '\u009b31m',
  '[31m',
)
const quotes = fc.constantFrom(["'", "'"], ['‘', '’'], ['`', "'"])
const user = fc.stringMatching(/^[a-z][a-z0-9._-]{1,11}$/)

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
  colour: string
  quotes: readonly string[]
  user: string
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
  colour,
  quotes,
  user,
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
  spaces: (c) => `Error: EACCES: permission denied, mkdir '${c.path} (copy) 2'`,
  panic: (c) => `thread 'main' (${c.line}) panicked at ${c.path}:${c.line}:${c.column}:\nindex out of bounds`,
  panicOther: (c) => `thread 'main' panicked at ${c.path}:${c.line}:${c.column}:\nnot a number`,
  coloured: (c) => `${c.colour}error: the build is broken${c.colour && '\u001b[0m'}`,
  quoted: (c) => `cannot stat ${c.quotes[0]}${c.path}${c.quotes[1]}: no such thing`,
  user: (c) => `FATAL: password authentication failed for user "${c.user}"`,
  status404: (c) => `Error: request ${c.uuid} failed with status code 404`,
  status500: (c) => `Error: request ${c.uuid} failed with status code 500`,
  lint: (c) =>
    `${c.path}\n  ${c.line}:${c.column}  error  'x' is not defined  no-undef\n\n✖ ${c.line} problems`,
  lintOther: (c) => `${c.path}\n  ${c.line}:${c.column}  error  Missing semicolon  semi`,
  jest: (c) => `FAIL ${c.path}\n  ● math › adds\n\n    expect(received).toBe(expected)`,
  jestOther: (c) => `FAIL ${c.path}\n  ● text › trims\n\n    expect(received).toBe(expected)`,
  progress: (c) => `Fetching ${c.line}%\rFetching ${c.column}%\rerror: the archive is damaged`,
  segfault: (c) => `Error: segmentation fault at ${c.address}`,
  shell: () => 'bash: line 1: rg: command not found',
  shellOther: () => 'bash: line 1: jq: command not found',
  code404: () => 'HTTP404Error: page gone',
}
// Pairs that earlier rules got wrong.
const SAME: [string, string][] = [
  [
    "ENOENT: no such file or directory, open '/Users/ada/My Project/a b.ts'",
    "ENOENT: no such file or directory, open '/x.ts'",
  ],
  ['Error: cannot open "C:\\Users\\Bob Smith\\x.ts"', 'Error: cannot open "D:\\x\\y.ts"'],
  ['Error: cannot open \\\\server\\share\\f.txt now', 'Error: cannot open /srv/f.txt now'],
  [
    'Error: listen EADDRINUSE: address already in use :::3000',
    'Error: listen EADDRINUSE: address already in use 0.0.0.0:8080',
  ],
  ['Error: connect ECONNREFUSED example.com:443', 'Error: connect ECONNREFUSED 127.0.0.1:443'],
  ['Error: connect ECONNREFUSED [::1]:3000', 'Error: connect ECONNREFUSED 127.0.0.1:443'],
  ['fatal: bad object 1234567', 'fatal: bad object 12ab567'],
  ['fatal: bad object 1234567', 'fatal: bad object 0123456789abcdef0123456789abcdef01234567'],
  [
    'Nov 16 03:07:03 host1 app[123]: Error: boom at start',
    'Dec  1 13:07:03 host1 app[4]: Error: boom at start',
  ],
  ['Mon Nov 16 03:07:03 UTC 2026 Error: boom', 'Tue Dec 1 13:07:03 UTC 2025 Error: boom'],
  ['[16/Nov/2026:03:07:03 +0000] error: boom', '[01/Jan/2025:13:07:03 +0100] error: boom'],
  ['2026/11/16 03:07:03 error: boom', '2025/01/02 13:07:03 error: boom'],
  ['3:07:03 AM error: boom', '11:17:09 PM error: boom'],
  ['Error: timed out after 1m0.5s', 'Error: timed out after 30s'],
  ['Error: timed out after 1h2m3s', 'Error: timed out after 500ms'],
  ['Error: timed out after 1m 30s', 'Error: timed out after 2m 5s'],
  ['Error: cannot write $HOME/x/y', 'Error: cannot write /home/ada/x'],
  ['Error: cannot write %TEMP%\\x.log', 'Error: cannot write C:\\t\\x.log'],
  ['Error: cannot write $TMPDIR/x.log', 'Error: cannot write /var/folders/ab/cd/T/x.log'],
  [
    'FATAL: password authentication failed for user "ada"',
    'FATAL: password authentication failed for user "bob2"',
  ],
  ['\u001b[1;31merror\u001b[0m: \u001b]8;;file:///a\u0007boom\u001b]8;;\u0007', 'error: boom'],
  ['\u001b(B\u001b[merror: boom', 'error: boom'],
  ['[31merror: boom[0m', 'error: boom'],
  ['\u009b31merror: boom\u009b0m', 'error: boom'],
  ['cannot open ‘/a/b’: denied', "cannot open '/c': denied"],
  ['error: unknown option “--foo”', 'error: unknown option "--foo"'],
  ['Downloading 10%\rDownloading 20%\rerror: boom', 'error: boom'],
  ['error: boom\r\nmore', 'error: boom\nmore'],
  ['Error: foo.Bar@1f2e3d is closed', 'Error: foo.Bar@9a8b7c6d is closed'],
  ['Error: heap limit 1,234.5 MB reached', 'Error: heap limit 2.048,7 MB reached'],
  ['Error: heap limit 1.5 GiB reached', 'Error: heap limit 512 MB reached'],
  [
    "thread 'main' panicked at src/main.rs:2:5:\nindex out of bounds: the len is 3 but the index is 7",
    "thread 'main' panicked at /home/a/b/lib.rs:22:15:\nindex out of bounds: the len is 1 but the index is 9",
  ],
  ['bash: line 1: rg: command not found', 'zsh: command not found: rg'],
  ['/bin/sh: 1: rg: not found', 'bash: rg: command not found'],
  ["'rg' is not recognized as an internal or external command,", 'bash: line 4: rg: command not found'],
  ['./run.sh: line 12: rg: command not found', '/home/x/y.sh: line 3: rg: command not found'],
  ['Error: request req_9f8e7d6c failed', 'Error: request req_1a2b3c4d failed'],
  ['Error: pod web-7d9f8b6c5-x2x7k crashed', 'Error: pod web-6f4c9d8b7-abc12 crashed'],
  ['Error: id V1StGXR8_Z5jdHi6B-myT missing', 'Error: id aB3dEf6hIj9kLm2nOp5qr missing'],
  ['Error: session 01HZX3K9V7Q2M4N6P8R0T2V4X6 expired', 'Error: session 01J0A3K9V7Q2M4N6P8R0T2V4X6 expired'],
  ['Error: at file:///C:/a/b.ts:3:4 boom', 'Error: at file:///home/x.ts:9:1 boom'],
  [
    "src/a.ts:10:5 - error TS2304: Cannot find name 'foo'.",
    "lib/b.ts:1:15 - error TS2304: Cannot find name 'foo'.",
  ],
  ["  10:5  error  'x' is not defined  no-undef", "  1:51  error  'x' is not defined  no-undef"],
  [
    "/home/a/x.js\n  10:5  error  'x' is not defined  no-undef\n\n✖ 1 problem (1 error, 0 warnings)",
    "/w/y.js\n  1:5  error  'x' is not defined  no-undef\n\n✖ 3 problems (1 error, 2 warnings)",
  ],
  ['Error: 3 of 10 tests failed in 1.23 s', 'Error: 1 of 7 tests failed in 0.5 s'],
  ['Error: invalid date 2026-11-16', 'Error: invalid date 2024-01-02T03:04:05Z'],
  [
    "E   FileNotFoundError: [Errno 2] No such file or directory: '/tmp/pytest-of-ada/pytest-12/x'",
    "E   FileNotFoundError: [Errno 2] No such file or directory: '/tmp/pytest-of-bob/pytest-1/yy'",
  ],
  [
    'error: could not lock config file .git/config: File exists',
    'error: could not lock config file /w/x/.git/config: File exists',
  ],
  [
    "OSError: [Errno 98] Address already in use: ('0.0.0.0', 8000)",
    "OSError: [Errno 98] Address already in use: ('127.0.0.1', 9000)",
  ],
  [
    "Error: EACCES: permission denied, mkdir '/root/x'",
    "Error: EACCES: permission denied, mkdir 'C:\\Program Files\\x y'",
  ],
  [
    'Error: job 8f14e45f-ceea-467f-a8f9-1d0c5b6d7e8f failed',
    'Error: job 8F14E45F-CEEA-467F-A8F9-1D0C5B6D7E8F failed',
  ],
  ['Error: no route to fe80::1ff:fe23:4567:890a', 'Error: no route to 2001:db8::8a2e:370:7334'],
]
// What a provider wraps in JSON.
SAME.push([
  'API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"},"request_id":"req_011"}',
  'API Error: 400 {"error":{"message":"prompt is too long","code":null},"request_id":"req_9x8"}',
])
const DIFFERENT: [string, string][] = [
  ['API Error: 400 {"error":{"message":"a b"}}', 'API Error: 529 {"error":{"message":"a b"}}'],
  ['{"error":{"message":"too long"}}', '{"error":{"message":"overloaded"}}'],
  ['Error: Request failed with status code 404', 'Error: Request failed with status code 500'],
  ['error: HTTP 404', 'error: HTTP 503'],
  ['error: HTTP/1.1 404', 'error: HTTP/1.1 503'],
  ['error: The requested URL returned error: 403', 'error: The requested URL returned error: 404'],
  ['Error: Command failed with exit code 1', 'Error: Command failed with exit code 137'],
  ['Error: process exited with status 1', 'Error: process exited with status 2'],
  ['Error: killed by signal 9', 'Error: killed by signal 11'],
  ['ERROR: ORA-00942', 'ERROR: ORA-01017'],
  ['Error: SQLSTATE[23000]: bad', 'Error: SQLSTATE[42S02]: bad'],
  ['error: failed with HRESULT 0x80070005', 'error: failed with HRESULT 0x80004005'],
  ["Error: Cannot find module '@babel/core'", "Error: Cannot find module '@types/node'"],
  ["Error: Cannot find module 'lodash/fp'", "Error: Cannot find module 'react/jsx-runtime'"],
  [
    'main.go:3:2: no required module provides package github.com/a/b; to add it:',
    'main.go:3:2: no required module provides package github.com/c/d; to add it:',
  ],
  [
    "thread 'main' panicked at src/main.rs:2:5:\nindex out of bounds: the len is 3 but the index is 7",
    "thread 'main' panicked at src/main.rs:2:5:\ncalled `Option::unwrap()` on a `None` value",
  ],
  [
    'FAIL src/a.test.ts\n  ● math › adds\n\n    expect(received).toBe(expected) // Object.is equality',
    'FAIL src/a.test.ts\n  ● text › trims\n\n    expect(received).toBe(expected) // Object.is equality',
  ],
  [
    "FAILURE: Build failed with an exception.\n\n* What went wrong:\nExecution failed for task ':app:compileJava'.",
    "FAILURE: Build failed with an exception.\n\n* What went wrong:\nCould not resolve all files for configuration ':app:classpath'.",
  ],
  [
    "/home/a/x.js\n  10:5  error  'x' is not defined  no-undef",
    '/home/a/x.js\n  10:5  error  Missing semicolon  semi',
  ],
  ['Program.cs(3,5): error CS1002: ; expected', "Program.cs(3,5): error CS0103: The name 'x' does not exist"],
  ['error[E0308]: mismatched types', 'error[E0382]: use of moved value'],
  ['bash: rg: command not found', 'bash: jq: command not found'],
  ['Error: connect ECONNREFUSED 127.0.0.1:3000', 'Error: connect ETIMEDOUT 127.0.0.1:3000'],
  ["error: pathspec 'main' did not match any file(s) known to git", "error: branch 'main' not found."],
  ["Error: ENOENT: no such file or directory, open '/a'", "Error: EACCES: permission denied, open '/a'"],
  ["KeyError: 'name'", "KeyError: 'id'"],
  ['psql: error: FATAL:  role "a" does not exist', 'psql: error: FATAL:  database "a" does not exist'],
  ['npm ERR! 404 Not Found - GET https://r/x', 'npm ERR! 403 Forbidden - GET https://r/x'],
  ['error: expected 1 argument', 'error: expected an argument'],
  ["[Errno 13] Permission denied: '/a'", "[Errno 2] No such file or directory: '/a'"],
  ['Error:\n  no such option: --foo', 'Error:\n  missing argument: NAME'],
  [
    'warning: x\nld: symbol(s) not found for architecture arm64',
    'warning: x\nld: library not found for -lfoo',
  ],
]

const names = Object.keys(MESSAGES)
const print = (name: string, made: Case): string =>
  failureOf({ text: (MESSAGES[name] as (c: Case) => string)(made) }).fingerprint

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

  it.each(SAME)('are one for %j and %j', (one, other) => {
    expect(failureOf({ text: one }).fingerprint).toBe(failureOf({ text: other }).fingerprint)
  })

  it.each(DIFFERENT)('are two for %j and %j', (one, other) => {
    expect(failureOf({ text: one }).fingerprint).not.toBe(failureOf({ text: other }).fingerprint)
  })

  it('differ with the words of the message', () => {
    fc.assert(
      fc.property(word, word, varying, (one, other, made) => {
        fc.pre(one !== other)
        const text = (about: string): string =>
          `${made.path}:${made.line}: error: unknown ${about} in ${made.path}`
        expect(failureOf({ text: text(one) }).fingerprint).not.toBe(
          failureOf({ text: text(other) }).fingerprint,
        )
      }),
    )
  })

  it('are one for shells of different programs, with or without colours and the wrapping of the client', () => {
    const plain = failureOf({ text: 'npm ERR! missing script: tset' }).fingerprint
    expect(
      failureOf({
        text: 'Exit code: 1\nWall time: 0.3 seconds\nOutput:\nnpm ERR! missing script: tset',
      }).fingerprint,
    ).toBe(plain)
    expect(failureOf({ text: '\u001b[31mnpm ERR! missing script: tset\u001b[0m' }).fingerprint).toBe(plain)
  })

  it('of silent failures tell the programs apart, and the codes', () => {
    const silent = (command: string, code = 1): string =>
      failureOf({ text: '', command, exitCode: code }).fingerprint
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
        expect(failureOf({ text })).toEqual(failureOf({ text: 'TypeError: x is not a function' }))
      }),
    )
  })

  it('are those of their sample, unless it was cut: what is kept is enough to name a failure again', () => {
    const about = fc
      .tuple(word, path, number, host)
      .map(([what, where, n, at]) => [
        `TypeError: ${what} is not a function\n    at ${where}:${n}:7`,
        `${where}(${n},3): error TS2304: Cannot find name '${what}'.`,
        `cat: ${where}: No such file or directory`,
        `\u001b[31mE   AssertionError: ${what} != ${n}\u001b[0m`,
        `curl: (7) Failed to connect to ${at} after ${n} ms`,
        `{"type":"error","error":{"message":"${what} is overloaded","code":${n}}}`,
        `npm ERR! code E404\nnpm ERR! 404 Not Found - ${what}`,
        `thread 'main' panicked at ${where}:${n}:5:\n${what} failed`,
        `exit code: ${n % 256}`,
        `${what} ${n}`,
        '',
      ])
    fc.assert(
      fc.property(about, (texts) => {
        for (const text of texts) {
          const failure = failureOf({ text, command: 'npm test' })
          if (!isCut(failure.sample)) expect(failureOf({ text: failure.sample })).toEqual(failure)
        }
      }),
    )
  })

  it('exist for any text, with a short sample', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (text) => {
        const failure = failureOf({ text })
        expect(failure.fingerprint).toMatch(/^e4:[0-9a-f]{16}$/)
        expect(failure.sample.length).toBeLessThanOrEqual(200)
      }),
    )
  })

  it('of a huge output cost little', () => {
    const huge = `${'x/y:1 '.repeat(500_000)}\nTypeError: broken`
    expect(failureOf({ text: huge }).sample).toBe('TypeError: broken')
  })
})
