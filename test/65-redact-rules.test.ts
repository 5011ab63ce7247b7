// Every rule: finds what its row describes, leaves alone what is cut short. Tokens are drawn from the rows at run time.

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { UNLIMITED } from '../src/redact/budget.ts'
import { createRedactor, type Findings, listRules } from '../src/redact/index.ts'
import { type ProviderRule, providerRules } from '../src/redact/rules-providers.ts'
import { STRUCTURE_RULES } from '../src/redact/rules-structure.ts'
import { Scanner } from '../src/redact/scan.ts'
import { drawMatch, seeded } from './support/shapes.ts'

const redactor = createRedactor({ key: new Uint8Array(32).fill(1) })
const random = seeded(20_260_801)
const MIXED = '[A-Za-z0-9]'
const draw = (source: string): string => drawMatch(source, random)

function token(rule: ProviderRule, literal: string): string {
  return (rule.left ? draw(rule.left.source) : '') + literal + draw(rule.right.source)
}

describe('provider rules', () => {
  const rules = providerRules()

  it('are at least 120, each named once', () => {
    expect(rules.length).toBeGreaterThanOrEqual(120)
    expect(new Set(rules.map((rule) => rule.id)).size).toBe(rules.length)
  })

  it.each(rules.map((rule) => [rule.id, rule] as const))(
    '%s finds its shape, in any surrounding',
    (_, rule) => {
      const alone = new Scanner([rule])
      for (const literal of rule.literals) {
        const secret = token(rule, literal)
        for (const [before, after] of [
          ['', ''],
          ['see ', ' here'],
          ['\n', '\n'],
          ['x="', '"'],
          ['out\\n', '\\n'],
        ] as const) {
          const text = before + secret + after
          const found = alone.scan(text, '', UNLIMITED) ?? []
          const own = found.find((finding) => finding.rule === rule.id)
          expect(own, `${rule.id} in ${JSON.stringify([before, after])}`).toBeDefined()
          expect(text.slice(own?.start, own?.end)).toBe(secret)
          expect(redactor.text(text, {})).not.toContain(secret)
        }
      }
    },
  )

  it.each(rules.map((rule) => [rule.id, rule] as const))('%s leaves a token cut short', (_, rule) => {
    const alone = new Scanner([rule])
    for (const literal of rule.literals) {
      const whole = token(rule, literal)
      const cut = rule.left
        ? whole.slice(whole.indexOf(literal))
        : literal + whole.slice(literal.length, literal.length + 4)
      const found = alone.scan(`see ${cut} here and-so-on-for-a-while`, '', UNLIMITED) ?? []
      expect(found.map((finding) => finding.rule)).not.toContain(rule.id)
    }
  })
})

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const password = (): string => `${draw('[A-Za-z]{4}[0-9]{2}[A-Za-z]{3}')}!${draw('[0-9]{2}')}`

// [rule, text around `§`, how to draw the secret put there]
const STRUCTURE: [string, string, () => string][] = [
  [
    'private-key',
    '-----BEGIN RSA PRIVATE KEY-----§-----END RSA PRIVATE KEY-----',
    () => `\n${draw(`${MIXED}{64}`)}\n${draw(`${MIXED}{30}`)}==\n`,
  ],
  [
    'private-key',
    'k: "-----BEGIN EC PRIVATE KEY-----§-----END EC PRIVATE KEY-----\\n"',
    () => `\\n${draw(`${MIXED}{64}`)}\\n${draw(`${MIXED}{30}`)}\\n`,
  ],
  [
    'private-key',
    '-----BEGIN OPENSSH PRIVATE KEY-----§',
    () => `\n${draw(`${MIXED}{70}`)}\n${draw(`${MIXED}{70}`)}`,
  ],
  [
    'private-key',
    '-----BEGIN PGP PRIVATE KEY BLOCK-----§-----END PGP PRIVATE KEY BLOCK-----',
    () => `\nVersion: x\n\n${draw(`${MIXED}{64}`)}\n=${draw(`${MIXED}{4}`)}\n`,
  ],
  [
    'putty-key',
    'PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 2\n§\nPrivate-MAC: 00',
    () => `${draw(`${MIXED}{64}`)}\n${draw(`${MIXED}{40}`)}`,
  ],
  ['url-password', 'postgres://app:§@db.internal:5432/x', password],
  ['url-password', 'git clone https://bot:§@git.internal/x.git', () => draw(`${MIXED}{14}`)],
  ['authorization-header', "-H 'Authorization: Basic §'", () => base64(`bot:${password()}`)],
  ['authorization-header', '"Authorization": "Bearer §"', () => draw(`${MIXED}{24}`)],
  ['authorization-header', 'proxy-authorization: token §', () => draw(`${MIXED}{24}`)],
  ['cookie', 'Cookie: §\n', () => `sid=${draw(`${MIXED}{26}`)}; theme=dark`],
  ['cookie', '< Set-Cookie: §\n', () => `session=${draw(`${MIXED}{26}`)}; Path=/; HttpOnly`],
  ['docker-auth', '{"auths":{"r.example.org":{"auth": "§"}}}', () => base64(`bot:${password()}`)],
  ['password', 'password: "§"', password],
  ['password', 'export DB_PASSWORD=§\n', password],
  ['password', 'Server=db;User=sa;Password=§;Encrypt=yes', password],
  ['password', 'mysql --password § db', password],
  ['password', 'machine git.internal login bot password §', password],
  ['password', '<password>§</password>', password],
  ['password', '{\\"password\\": \\"§\\"}', password],
  ['curl-user', 'curl -s -u bot:§ https://x.internal', password],
  ['azure-sas', 'https://a.blob.core.windows.net/c?sv=2022&sig=§&se=1', () => `${draw(`${MIXED}{42}`)}%3D`],
  ['assigned-secret', 'vendor_api_key = "§"', () => draw('[0-9a-f]{32}')],
  ['assigned-secret', 'export VENDOR_TOKEN=§\n', () => draw(`${MIXED}{32}`)],
  [
    'assigned-secret',
    '//registry.example.org/:_authToken=§',
    () => draw('[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}'),
  ],
  ['assigned-secret', 'aws_secret_access_key = §', () => draw('[A-Za-z0-9]{20}[/+][A-Za-z0-9]{19}')],
  ['assigned-secret', 'client_secret: §', () => draw('[a-z]{3}[0-9]{3}[A-Z]{2}[0-9]{2}')],
  ['nearby-secret', 'the secret of the vendor was §', () => draw(`${MIXED}{32}`)],
]

describe('structural rules', () => {
  it.each(STRUCTURE)('%s in %s', (rule, around, make) => {
    for (let round = 0; round < 5; round++) {
      const secret = make()
      const counts: Findings = {}
      const out = redactor.text(
        around.replace('§', () => secret),
        counts,
      )
      expect(counts).toEqual({ [rule]: 1 })
      const [lead, tail] = around.split('§') as [string, string]
      expect(out.startsWith(lead)).toBe(true)
      expect(out.slice(lead.length)).toMatch(/^\[REDACTED:[a-z-]+:[0-9a-f]{8}\]/)
      expect(out.endsWith(tail)).toBe(true)
    }
  })

  it('each have a case above', () => {
    expect(new Set(STRUCTURE.map(([rule]) => rule))).toEqual(new Set(Object.keys(STRUCTURE_RULES)))
  })

  it.each([
    'password: string',
    'const password = options.password',
    'password: "password"',
    `password = "$${'{DB_PASSWORD}'}"`,
    "password = '<your-password>'",
    'token: null',
    'api_key = "xxxxxxxxxxxxxxxxxxxxxxxx"',
    'apiKey: process.env.VENDOR_API_KEY_V2_PRODUCTION',
    'const tokenCount = usage.input_tokens_details_2024',
    'cache_key: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b',
    '"sessionId": "5a0b1c2d-3e4f-4a5b-8c6d-7e8f9a0b1c2d"',
    'commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b',
    'postgres://user:password@localhost/db',
    'postgres://$USER:$PASS@localhost/db',
    'Authorization: Bearer <token>',
    `Authorization: Bearer $${'{token}'}`,
    'Cookie: theme=dark; lang=en-GB',
    '-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----',
    '-----BEGIN CERTIFICATE-----\nMIIB9TCCAWACAQAwgbgxGTAXBgNVBAoMEFF1b1ZhZGlzIExpbWl0ZWQ\n-----END CERTIFICATE-----',
    'curl -u user:password https://example.org',
    '"auth": "none"',
    'claude-sonnet-4-5-20250929 and toolu_01A09q90qw90lq917835lq9',
    'the monkey: 9f86d081884c7d659a2feaa0c55ad015',
  ])('leave %j', (text) => {
    const counts: Findings = {}
    expect(redactor.text(text, counts)).toBe(text)
    expect(counts).toEqual({})
  })
})

it('the documentation lists exactly the rules in use', () => {
  const page = readFileSync(new URL('../docs/redaction.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| `([a-z0-9-]+)` \| (.+) \|$/gm)].map((row) => ({
    id: row[1],
    note: row[2],
  }))
  expect(rows).toEqual(listRules())
})
