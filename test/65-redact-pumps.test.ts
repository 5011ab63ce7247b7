// No text makes the redactor slow: every literal and every beginning of a structure, repeated, takes at most a few times as
// long as prose about secrets, also where thousands of secrets are found in it. The long run tries all of them at a million characters; otherwise one in forty of the literals is.
import { describe, expect, it } from 'vitest'
import { createRedactor, type Findings } from '../src/redact/index.ts'
import { providerRules } from '../src/redact/rules-providers.ts'
import { IS_LONG } from './setup/long.ts'
import { leastTime, pump, textAboutSecrets, workTime } from './setup/pump.ts'
import { drawMatch, seeded } from './support/shapes.ts'

const redactor = createRedactor({ key: new Uint8Array(32).fill(5) })
const random = seeded(23)
const SIZE = IS_LONG ? 1_000_000 : 200_000

const literals = [...new Set(providerRules().flatMap((rule) => rule.literals))]
const tokens = providerRules().map((rule) => {
  const left = rule.left ? drawMatch(rule.left.source, random) : ''
  return `${left}${rule.literals[0]}${drawMatch(rule.right.source, random)} `
})
const structures = [
  ...[
    'eyJabc.',
    '-eyJ',
    'eyJ-',
    '://a:',
    '://a:b@',
    'https://a:b1c2d3@',
    '@tcp(',
    'a:b1c2@tcp(',
    ':5432:',
    ':*:',
    'sig=',
  ],
  ...[
    '-----BEGIN PRIVATE KEY-----\n',
    '-----BEGIN RSA PRIVATE KEY-----',
    '-----BEGIN',
    '-----END',
    'Private-Lines: 1\n',
  ],
  ...[
    'curl ',
    'curl -u ',
    ' -u ',
    ' -u a:',
    'mysql -p',
    ' -p',
    'sshpass -p ',
    ' -a ',
    'docker login -p ',
    'ssh-keygen -N ',
  ],
  ...[
    'Cookie: a=',
    'cookie=',
    'Authorization: ',
    'authorization: Bearer ',
    'auth: ',
    '"auth":"',
    'bearer ',
    'x-api-key: ',
  ],
  ...[
    'password="',
    'password=',
    'password ',
    '--password ',
    '--token ',
    'token: ',
    'secret: ',
    'api_key="',
    'key=',
    '<password>',
  ],
  ...[
    'password=oauth2',
    'password: testuser',
    'password="testuser',
    'PASS: ',
    'PASS: a1',
    'default = ',
    'variable "a" default =',
  ],
  ...[
    'a1B2c3D4e5F6g7H8i9 ',
    'token a1B2c3D4e5F6g7H8i9 ',
    'password=a1b2c3d4!e ',
    'a1/',
    'A1b2',
    'a.b.',
    'A_b1',
    'token - ',
  ],
  ...[
    '"\\',
    '\\',
    '\\/',
    '\\n',
    '\\u002b',
    '\\x20',
    '\\u001b[33m',
    '\\033[0m',
    '\u001b[33m',
    '\u001b[',
    '^[[',
    '%',
    '%20',
    '%25',
  ],
  ...[
    '=3D',
    '=',
    '==',
    '::',
    '>',
    ':',
    '[REDACTED:',
    '[REDACTED:jwt:0a1b2c3d]',
    '\u4e2d',
    '@',
    '@/',
    ' -',
    '- ',
    'signature=',
  ],
]

/** Measured, the shortest of some: 2.2, for a token that is found 5,000 times. What is not linear takes hundreds of times as long. */
const MOST_TIMES = 4
/** Of strings that are too short for their budget to end it: 40 to 71. */
const MOST_TIMES_SHORT = 150

describe('pumps', () => {
  const units = [
    ...structures,
    ...[...literals.flatMap((l) => [l, `${l}-`, `${l}A1b2`, `/${l}a`, `${l}.x1`]), ...tokens].filter(
      (_, i) => IS_LONG || i % 39 === 0,
    ),
  ]

  it(`are at least a hundred: ${units.length}`, () => {
    expect(units.length).toBeGreaterThanOrEqual(100)
  })

  it('take at most a few times as long as prose about secrets', () => {
    const plain = textAboutSecrets(SIZE)
    const redactPlain = (): string => redactor.text(plain, {})
    let usual = leastTime(redactPlain, 20)
    expect(redactPlain()).toBe(plain)
    const measured = units.map((unit) => {
      const text = pump(unit, SIZE)
      let ratio = workTime(() => redactor.text(text, {})) / usual
      // Once more when slow: what is compiled on the way, and what else this process does, is not the text's doing.
      for (let again = 0; again < 6 && ratio > MOST_TIMES; again++) {
        usual = Math.min(usual, leastTime(redactPlain, 3))
        ratio = Math.min(ratio, leastTime(() => redactor.text(text, {}), 3) / usual)
      }
      return { unit, ratio }
    })
    const worst = measured.reduce((a, b) => (b.ratio > a.ratio ? b : a))
    console.log(
      `${units.length} pumps: the slowest takes ${worst.ratio.toFixed(1)} times prose about secrets (${JSON.stringify(worst.unit)})`,
    )
    expect(measured.filter(({ ratio }) => ratio > MOST_TIMES)).toEqual([])
  })

  it('leave the budget kept in short strings too', () => {
    // Each is too short for the budget of a string to end it.
    for (const size of [500, 4095]) {
      const all = (text: string) => (): void => {
        for (let i = 0; i < 40_000 / size; i++) redactor.text(text, {})
      }
      const usual = leastTime(all(textAboutSecrets(size)), 20)
      const measured = structures.map((unit) => {
        const run = all(pump(unit, size))
        let ratio = workTime(run) / usual
        if (ratio > MOST_TIMES_SHORT) ratio = leastTime(run, 20) / usual
        return { unit, ratio }
      })
      const worst = measured.reduce((a, b) => (b.ratio > a.ratio ? b : a))
      console.log(
        `${size} characters: the slowest takes ${worst.ratio.toFixed(1)} times prose about secrets (${JSON.stringify(worst.unit)})`,
      )
      expect(measured.filter(({ ratio }) => ratio > MOST_TIMES_SHORT)).toEqual([])
    }
  })
})

it('replaces whole what would take too long, by its name, and never lets it through', () => {
  const token = `ghp_${drawMatch('[A-Za-z0-9]{36}', random)}`
  const counts: Findings = {}
  const out = redactor.text(`${pump('password="', SIZE)} ${token} `, counts)
  expect(out).toMatch(/^\[REDACTED:budget:[0-9a-f]{8}\]$/)
  expect(counts).toEqual({ budget: 1 })
})

it.each([
  ['hashes of files', () => `${drawMatch('[0-9a-f]{64}', random)}  path/to/file.ts\n`],
  ['lines of base64', () => `${drawMatch('[A-Za-z0-9+/]{76}', random)}\n`],
  ['addresses', () => `https://example.org/${drawMatch('[a-z0-9]{12}', random)}?q=%20a%2Fb\n`],
  [
    'coloured test results',
    () =>
      `\u001b[32m✓\u001b[39m test ${drawMatch('[a-z]{5}', random)} \u001b[33m12\u001b[2mms\u001b[22m\u001b[39m\n`,
  ],
  ['JSON in JSON', () => `{\\"key\\": \\"${drawMatch('[a-z]{6}', random)}\\",\\"token_count\\": 12},\\n`],
])('does not take 200,000 characters of %s for such a text', (_, line) => {
  let text = ''
  while (text.length < 200_000) text += line()
  expect(redactor.text(text, {})).toBe(text)
})
