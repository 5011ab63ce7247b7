// The redactor as its users see it: escapes, markers, limits, refusals. Secrets are drawn at run time.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, describe, expect, it } from 'vitest'
import { createRedactor, type Findings, loadRedactionKey } from '../src/redact/index.ts'
import { providerRules } from '../src/redact/rules-providers.ts'
import { IS_LONG } from './setup/long.ts'
import fc from './setup/properties.ts'
import { drawMatch, seeded } from './support/shapes.ts'

const key = new Uint8Array(32).fill(3)
const redactor = createRedactor({ key })
const random = seeded(65)
const rules = providerRules()
const MANY = IS_LONG ? 1_000_000 : 200_000
const drawToken = (index: number): string => {
  const rule = rules[index % rules.length] as (typeof rules)[number]
  for (;;) {
    const left = rule.left ? drawMatch(rule.left.source, random) : ''
    const token = left + (rule.literals[0] as string) + drawMatch(rule.right.source, random)
    // The documented limit: signs may not cut a token into pieces shorter than this.
    if (/[\w~-]{16}/.test(token)) return token
  }
}
const github = (): string => `ghp_${drawMatch('[A-Za-z0-9]{36}', random)}`
const redact = (text: string): string => redactor.text(text, {})
const escape1 = (text: string): string => JSON.stringify(text).slice(1, -1)
const total = (counts: Findings): number => Object.values(counts).reduce((sum, count) => sum + count, 0)
const directory = mkdtempSync(join(tmpdir(), 'recollect-redact-'))
afterAll(() => rmSync(directory, { recursive: true }))

describe('tokens after a line end', () => {
  const tokens = Array.from({ length: 24 }, (_, i) => drawToken(i * 7))
  const text = `output:\n${tokens.join('\n')}\ndone`

  it.each([
    ['decoded', text],
    ['escaped once', escape1(text)],
    ['escaped twice', escape1(escape1(text))],
    ['escaped with \\u000a', text.replaceAll('\n', '\\u000a')],
  ])('are all found: %s', (_, form) => {
    const out = redact(form)
    for (const token of tokens) expect(out).not.toContain(token)
  })

  it('have the same markers in every form', () => {
    const markers = (form: string): string[] => form.match(/\[REDACTED:[^\]]+\]/g) ?? []
    expect(markers(redact(escape1(text)))).toEqual(markers(redact(text)))
  })

  it('leave the escaped text valid JSON', () => {
    const record = JSON.stringify({ text, nested: JSON.stringify({ text }) })
    const out = redact(record)
    expect(() => JSON.parse(JSON.parse(out).nested)).not.toThrow()
  })
})

describe('markers', () => {
  it('are equal for equal secrets, different for others and for another key', () => {
    const [one, two] = [github(), github()]
    const out = redact(`a ${one} b ${two} c ${one}`)
    const [first, second, third] = out.match(/\[REDACTED:github-token:[0-9a-f]{8}\]/g) ?? []
    expect(first).toBe(third)
    expect(first).not.toBe(second)
    expect(createRedactor({ key: new Uint8Array(32).fill(4) }).text(one, {})).not.toBe(first)
  })

  it('carry no part of the secret', () => {
    fc.assert(
      fc.property(fc.nat(rules.length - 1), (index) => {
        const token = drawToken(index)
        expect(redact(`x ${token} y`)).not.toContain(token.slice(-12))
      }),
    )
  })

  const piece = fc.oneof(
    fc.string({ maxLength: 20 }),
    fc.nat(rules.length - 1).map(drawToken),
    fc.constantFrom(
      'password=',
      'token: ',
      '"',
      "'",
      '\\n',
      '\n',
      ' ',
      '://u:',
      '@h',
      '[REDACTED:',
      ']',
      'Cookie: ',
      '-----BEGIN PRIVATE KEY-----',
    ),
    fc.constant('[REDACTED:jwt:0a1b2c3d]'),
  )

  it('are left alone: redacting twice changes nothing', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const once = redact(pieces.join(''))
        const counts: Findings = {}
        expect(redactor.text(once, counts)).toBe(once)
        expect(counts).toEqual({})
      }),
      { numRuns: 500 },
    )
  })

  it('cannot be used to shield a secret', () => {
    const token = github()
    expect(redact(`[REDACTED:x:00000000]${token}[REDACTED:x:00000000]`)).not.toContain(token)
  })

  it('replace overlapping findings once, under the longest', () => {
    const token = github()
    const counts: Findings = {}
    const out = redactor.text(`Authorization: Bearer ${token}`, counts)
    expect(out).toMatch(/^Authorization: Bearer \[REDACTED:github-token:[0-9a-f]{8}\]$/)
    expect(counts).toEqual({ 'github-token': 1 })
  })
})

describe('value()', () => {
  it('gives back the same reference when nothing was found, and never changes its input', () => {
    const clean = { a: [1, 'two', { three: null }], b: true }
    expect(redactor.value(clean, {})).toBe(clean)
    const token = github()
    const dirty = { list: ['fine', { deep: `see ${token}` }], other: { kept: 1 } }
    const before = structuredClone(dirty)
    const counts: Findings = {}
    const out = redactor.value(dirty, counts)
    expect(dirty).toEqual(before)
    expect(JSON.stringify(out)).not.toContain(token)
    expect(out.other).toBe(dirty.other)
    expect(counts).toEqual({ 'github-token': 1 })
  })

  it('judges a value by its key, its flag or its sibling name', () => {
    const secret = `${drawMatch('[a-z]{3}[0-9]{3}[A-Z]{3}', random)}!x`
    const random32 = drawMatch('[a-z][0-9][A-Z]{2}[0-9a-f]{28}', random)
    const out = JSON.stringify([
      redactor.value({ password: secret }, {}),
      redactor.value({ args: ['--password', secret] }, {}),
      redactor.value({ env: [{ name: 'VENDOR_TOKEN', value: random32 }] }, {}),
      redactor.value({ api_key: random32 }, {}),
    ])
    expect(out).not.toContain(secret)
    expect(out).not.toContain(random32)
    expect(redactor.value({ uuid: random32, note: secret }, {})).toEqual({ uuid: random32, note: secret })
  })

  it('redacts keys and survives __proto__', () => {
    const token = github()
    const hostile = JSON.parse(`{"__proto__": {"polluted": "${token}"}, "${token}": 1, "constructor": "x"}`)
    const out = redactor.value(hostile, {})
    expect(JSON.stringify(out)).not.toContain(token)
    expect(Object.hasOwn(out, '__proto__')).toBe(true)
    expect(Object.getPrototypeOf(out)).toBe(Object.prototype)
    expect(({} as { polluted?: string }).polluted).toBeUndefined()
  })

  it('replaces what is too deep, or has no end, as a whole', () => {
    let deep: unknown = github()
    for (let i = 0; i < 1_000_000; i++) deep = [deep]
    const counts: Findings = {}
    expect(redactor.value(deep, counts)).toMatch(/^\[REDACTED:too-deep:[0-9a-f]{8}\]$/)
    const cycle: Record<string, unknown> = {}
    cycle['self'] = cycle
    expect(redactor.value(cycle, counts)).toMatch(/^\[REDACTED:too-deep:/)
    expect(counts).toEqual({ 'too-deep': 2 })
  })

  it('agrees with text() on what a record holds', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(rules.length - 1), { minLength: 1, maxLength: 5 }), (indices) => {
        const tokens = indices.map(drawToken)
        const out = JSON.stringify(
          redactor.value({ content: tokens.map((token) => ({ text: `got ${token}\n` })) }, {}),
        )
        for (const token of tokens) expect(out).not.toContain(token)
      }),
    )
  })
})

describe('failing closed', () => {
  it('replaces the whole text when its time is up', () => {
    const slow = createRedactor({ key, effort: 0 })
    const counts: Findings = {}
    const text = `${'name: value, '.repeat(2000)} token: ${github()} ${'token: x, '.repeat(2000)}`
    expect(slow.text(text, counts)).toMatch(/^\[REDACTED:budget:[0-9a-f]{8}\]$/)
    expect(counts).toEqual({ budget: 1 })
  })

  it.each([
    ['a broken pattern', { id: 'own', literals: ['own_'], pattern: '[' }],
    ['an empty pattern', { id: 'own', literals: ['own_'], pattern: 'x*' }],
    ['a literal too short to look for', { id: 'own', literals: ['o'], pattern: 'x{8}' }],
    ['no literal', { id: 'own', literals: [], pattern: 'x{8}' }],
    ['an id that is taken', { id: 'jwt', literals: ['own_'], pattern: 'x{8}' }],
    ['an id that breaks the marker', { id: 'a:b', literals: ['own_'], pattern: 'x{8}' }],
  ])('refuses %s', (_, rule) => {
    expect(() => createRedactor({ key, rules: [rule] })).toThrow(
      expect.objectContaining({ code: 'BAD_CONFIG' }),
    )
  })

  it('refuses to start when a rule of the user swallows plain text', () => {
    const greedy = { id: 'greedy', literals: ['tokens.map'], pattern: '[^]{1,50}' }
    expect(() => createRedactor({ key, rules: [greedy] })).toThrow(
      expect.objectContaining({ code: 'BAD_CONFIG' }),
    )
  })

  it('refuses a missing or short key', () => {
    expect(() => createRedactor({ key: new Uint8Array(3) })).toThrow(
      expect.objectContaining({ code: 'BAD_CONFIG' }),
    )
  })

  it('uses a rule of the user', () => {
    const own = createRedactor({ key, rules: [{ id: 'own', literals: ['own_'], pattern: '[a-z0-9]{20}' }] })
    const token = `own_${drawMatch('[a-z0-9]{20}', random)}`
    expect(own.text(`at ${token}.`, {})).toMatch(/^at \[REDACTED:own:[0-9a-f]{8}\]\.$/)
  })

  it.each([
    'sk-ant-api03-',
    'eyJabc.',
    'A1b2',
    'password="',
    '"\\',
    '\\u002b',
    '://a:',
    '-----BEGIN PRIVATE KEY-----\n',
    'curl -u ',
    'Cookie: a=',
    'Authorization: ',
    '[REDACTED:',
    'a1/',
    'token - ',
    'testpass1',
    '\u4e2d',
  ])(`gets through ${MANY} characters of %j`, (unit) => {
    const patient = createRedactor({ key, effort: Number.POSITIVE_INFINITY })
    const text = unit.repeat(Math.ceil(MANY / unit.length))
    expect(patient.text(text, {}).length).toBeGreaterThan(0)
  })
})

describe('loadRedactionKey', () => {
  it('makes 32 random bytes for the owner only, and gives them again', () => {
    const path = join(directory, 'new', 'redaction.key')
    const made = loadRedactionKey(path)
    expect(made.length).toBe(32)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(loadRedactionKey(path)).toEqual(made)
    expect(readdirSync(dirname(path))).toEqual(['redaction.key'])
    expect(loadRedactionKey(join(directory, 'other.key'))).not.toEqual(made)
  })

  it('refuses a key that is damaged, readable by others or a link', () => {
    const short = join(directory, 'short.key')
    writeFileSync(short, 'abc', { mode: 0o600 })
    expect(() => loadRedactionKey(short)).toThrow(expect.objectContaining({ code: 'CORRUPT' }))
    const open = join(directory, 'open.key')
    writeFileSync(open, new Uint8Array(32), { mode: 0o644 })
    expect(() => loadRedactionKey(open)).toThrow(expect.objectContaining({ code: 'UNSAFE_PATH' }))
    const link = join(directory, 'link.key')
    symlinkSync(open, link)
    expect(() => loadRedactionKey(link)).toThrow(expect.objectContaining({ code: 'UNSAFE_PATH' }))
  })
})

it('finds at most two per megabyte in source code that holds no secrets', () => {
  const lib = dirname(createRequire(import.meta.url).resolve('typescript'))
  const files = readdirSync(lib).filter((name) => name === 'typescript.js' || name.endsWith('.d.ts'))
  const counts: Findings = {}
  let size = 0
  for (const name of files) {
    const text = readFileSync(join(lib, name), 'utf8')
    size += text.length
    redactor.text(text, counts)
  }
  expect(size).toBeGreaterThan(5e6)
  expect(total(counts) / (size / 1e6)).toBeLessThanOrEqual(2)
})

it('keeps nothing of the texts it has seen: what it remembers of them are names, not the texts around them', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const filler = 'some words of a long text. '.repeat(2_500)
  collect()
  const before = process.memoryUsage().heapUsed
  // Each has names of its own that are asked about: at an operator, and as a flag.
  for (let index = 0; index < 80; index++)
    redactor.text(`${filler}a_long_name_of_a_secret_${index} = none --some-long-token-${index} x`, {})
  collect()
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(2.5e6)
})
