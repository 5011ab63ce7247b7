// A code right before a token hides nothing: every rule behind every colour, escape and percent code, alone and inside
// words, plain and as JSON. Tokens are drawn from the rules at run time, so a new rule is covered without a line here.
import { describe, expect, it } from 'vitest'
import { createRedactor } from '../src/redact/index.ts'
import { providerRules } from '../src/redact/rules-providers.ts'
import { IS_LONG } from './setup/long.ts'
import { drawMatch, seeded } from './support/shapes.ts'
import { STRUCTURE } from './support/structures.ts'

const redactor = createRedactor({ key: new Uint8Array(32).fill(9) })
const random = seeded(1_523)
const redact = (text: string): string => redactor.text(text, {})
const escaped = (text: string): string => JSON.stringify(text).slice(1, -1)

const ESC = '\u001b'
const CODES = [
  ...[`${ESC}[33m`, `${ESC}[1;32m`, `${ESC}[38;5;246m`, `${ESC}[01;31m${ESC}[K`, '\u009b33m', '^[[33m'],
  ...[
    `${ESC}(B`,
    `${ESC}[m${ESC}(B`,
    `${ESC}7`,
    `${ESC}M`,
    `${ESC}c`,
    // Two colours in full, and styles.
    `${ESC}[1;4;38;2;255;255;255;48;2;100;100;100m`,
    `${ESC}[38:2::255:255:255;48:2::100:100:100m`,
    // The last byte of a letter, as git tells names.
    '\\303\\251',
    // A link, as terminals know it, and its end.
    `${ESC}]8;;https://h.example.org${ESC}\\`,
    '\\u001b]8;;https://h.example.org\\u001b\\\\',
    '^[(B',
    // A key, a cursor, a terminal as new.
    `${ESC}OA`,
    `${ESC}[2 q`,
    `${ESC}[!p`,
    // Its escape character lost, or spelled in a way of its own.
    '[33m',
    '[01;31m[K',
    '<ESC>[1;32m',
    'ESC[0m',
    '\u241b[33m',
    '`e[36m',
    '[2J',
    '[?25l',
    '<ESC>[1;1H',
    '\\u001b(B',
    '\\033(B',
    '\\e(B',
    '%u0020',
  ],
  ...[
    '\\u001b[33m',
    '\\x1b[1;31m',
    '\\033[0m',
    '\\33[0m',
    '\\e[0m',
    '\\u{1b}[0m',
    '\\x20',
    '\\n',
    '\\t',
    '\\r\\n',
    '\\a',
    '\\v',
    '\\0',
    '^M',
    '^I',
    '\\"',
    '\\u0022',
    '\\U00000020',
  ],
  ...[
    '%20',
    '%22',
    '%3D',
    '%3d',
    '%0A',
    '%2520',
    '%253D',
    '%C2%A0',
    '=3D',
    '=3D=20',
    '%1B[33m',
    '%1B%5B33m',
    '%C2%9B33m',
  ],
]
/** Codes only because a token stands behind them: of groups, characters, formats, PowerShell and options. */
const SIGNS = ['\\1', '$1', '\\12', '\\s', '\\E', '%s', '`n', '`r`n', '`0', ' -u', '"-p']
// [what stands before the code, what stands after the token]
const PLACES: [string, string][] = [
  ['', ''],
  ['word', ' word'],
  ['some text ', `${ESC}[0m word`],
  ['a=1&b', '%20word'],
]
const FORMS: [string, (text: string) => string][] = [
  ['plain', (text) => text],
  ['as JSON', escaped],
  ['as JSON in JSON', (text) => escaped(escaped(text))],
]

/** Cases tried and not found. */
function missed(secrets: () => string[], codes: string[]): { count: number; misses: string[] } {
  let count = 0
  const misses: string[] = []
  for (const [at, code] of codes.entries()) {
    for (const [nth, [before, after]] of PLACES.entries()) {
      for (const [form, write] of FORMS) {
        // Short: each code in each place, in one form after another.
        if (!IS_LONG && FORMS[(at + nth) % FORMS.length]?.[0] !== form) continue
        for (const secret of secrets()) {
          // With such digits behind it, `\0` is another character, in every language, and `$1` another group.
          if (/[\\`$]\d+$/.test(code) && /^\d/.test(secret)) continue
          count++
          if (redact(write(before + code + secret + after)).includes(write(secret)))
            misses.push(`${JSON.stringify(before + code)} ${form}`)
        }
      }
    }
  }
  return { count, misses }
}

describe('every rule after every code', () => {
  it.each(providerRules().map((rule) => [rule.id, rule] as const))('%s', (_, rule) => {
    const tokens = (): string[] =>
      rule.literals.slice(0, IS_LONG ? 2 : 1).map((literal) => {
        for (;;) {
          const left = rule.left ? drawMatch(rule.left.source, random) : ''
          const token = left + literal + drawMatch(rule.right.source, random)
          // The documented limit: signs may not cut a token into pieces shorter than this. And what is too short to be told
          // from a word (`eyJ…..`) is missed with or without a code.
          if (/[\w~-]{16}/.test(token) && redact(token) !== token) return token
        }
      })
    // Of these even a dash before them goes on with a word: base64 holds them by chance.
    const isByChance = rule.left?.source.includes('(?<!') ?? false
    expect(missed(tokens, isByChance ? CODES : [...CODES, ...SIGNS]).misses).toEqual([])
  })
})

it('finds what stands in a structure after every code', () => {
  let [count, found] = [0, 0]
  const misses = new Set<string>()
  for (const [rule, around, make] of STRUCTURE) {
    for (const code of CODES) {
      for (const [form, write] of FORMS) {
        const secret = make()
        const out = redact(write(`some text ${code}${around.replace('§', () => secret)}`))
        count++
        if (!out.includes(write(secret))) found++
        else misses.add(`${rule} ${JSON.stringify(code)} ${form}`)
      }
    }
  }
  console.log(`structures after codes: ${((100 * found) / count).toFixed(2)} % of ${count}`)
  expect(found / count, [...misses].slice(0, 40).join('\n')).toBeGreaterThanOrEqual(0.99)
})

describe('a coloured key block', () => {
  const lines = Array.from({ length: 5 }, () => drawMatch('[A-Za-z0-9]{64}', random))
  const block = ['-----BEGIN RSA PRIVATE KEY-----', ...lines, '-----END RSA PRIVATE KEY-----']
  const colours: [string, (line: string) => string][] = [
    ['every line', (line) => `${ESC}[32m${line}${ESC}[0m`],
    ['as a diff', (line) => `${ESC}[32m+${ESC}[m${ESC}[32m${line}${ESC}[m`],
    ['escaped', (line) => `\\u001b[32m${line}\\u001b[0m`],
    ['as code', (line) => `\\033[32m${line}\\033[0m`],
  ]
  it.each(colours)('goes with every line: %s', (_, colour) => {
    for (const end of ['\n', '\r\n', '\\n']) {
      for (const shown of [block, block.slice(0, 4)]) {
        const out = redact(`before ${shown.map(colour).join(end)} after`)
        for (const line of lines) expect(out).not.toContain(line)
      }
    }
  })
})

it('finds a token that a search has coloured in part', () => {
  const body = drawMatch('[A-Za-z0-9]{36}', random)
  const out = redact(`a.env:KEY=${ESC}[01;31m${ESC}[Kghp_${ESC}[m${ESC}[K${body}\n`)
  expect(out).not.toContain(body)
  expect(out).toContain('a.env:KEY=')
})

describe('what the documentation claims', () => {
  // How secrets come to stand in a transcript.
  const SHAPES: [string, (secret: string, name: string) => string][] = [
    ['alone', (s) => s],
    ['in a sentence', (s) => `the value is ${s} as of today`],
    ['on its line', (s) => `out:\n${s}\ndone`],
    ['in an assignment', (s, n) => `export ${n}=${s}\n`],
    ['in quotes', (s, n) => `${n} = "${s}"`],
    ['in YAML', (s, n) => `${n.toLowerCase()}: ${s}\n`],
    ['in JSON', (s, n) => JSON.stringify({ [n]: s })],
    ['in JSON in JSON', (s, n) => JSON.stringify({ text: JSON.stringify({ [n]: s }) })],
    ['coloured', (s) => `x ${ESC}[33m${s}${ESC}[0m y`],
    ['coloured by a search', (s) => `f:${ESC}[01;31m${ESC}[K${s}${ESC}[m${ESC}[K`],
    ['coloured, escaped', (s) => `x \\u001b[1;32m${s}\\u001b[0m y`],
    ['in a query', (s) => `https://h.example.org/x?a=b%20${encodeURIComponent(s)}%22`],
    ['in a diff', (s, n) => `+${n}=${s}\n-${n}=\n`],
    ['in XML', (s) => `<value>${s}</value>`],
    ['after an escaped line end', (s) => `out:\\n${s}\\ndone`],
  ]

  it('is found in 99 of 100 cases', () => {
    const misses: string[] = []
    let count = 0
    for (const rule of providerRules()) {
      for (const [shape, write] of SHAPES) {
        let secret = ''
        while (!/[\w~-]{16}/.test(secret)) {
          const left = rule.left ? drawMatch(rule.left.source, random) : ''
          secret = left + (rule.literals[0] as string) + drawMatch(rule.right.source, random)
        }
        count++
        const out = redact(write(secret, 'VENDOR_TOKEN'))
        if ([secret, encodeURIComponent(secret), escaped(secret)].some((form) => out.includes(form)))
          misses.push(`${rule.id} ${shape}`)
      }
    }
    for (const [rule, around, make] of STRUCTURE) {
      for (const [shape, write] of SHAPES) {
        // A structure has a notation of its own; what changes around it is what it stands in.
        if (/assignment|quotes|YAML|XML/.test(shape)) continue
        const secret = make()
        count++
        const out = redact(
          write(
            around.replace('§', () => secret),
            'text',
          ),
        )
        if ([secret, encodeURIComponent(secret), escaped(secret)].some((form) => out.includes(form)))
          misses.push(`${rule} ${shape}`)
      }
    }
    console.log(`kinds × shapes: ${(100 * (1 - misses.length / count)).toFixed(2)} % of ${count}`)
    expect(1 - misses.length / count, misses.slice(0, 60).join('\n')).toBeGreaterThanOrEqual(0.99)
  })
})
