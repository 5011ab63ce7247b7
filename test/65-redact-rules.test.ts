// Every rule: finds what its row describes, leaves alone what is cut short. Tokens are drawn from the rows at run time.

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { Budget } from '../src/redact/budget.ts'
import { createRedactor, type Findings, listRules } from '../src/redact/index.ts'
import { type ProviderRule, providerRules } from '../src/redact/rules-providers.ts'
import { STRUCTURE_RULES } from '../src/redact/rules-structure.ts'
import { Scanner } from '../src/redact/scan.ts'
import { drawMatch, seeded } from './support/shapes.ts'
import { STRUCTURE } from './support/structures.ts'

const redactor = createRedactor({ key: new Uint8Array(32).fill(1) })
const random = seeded(20_260_801)
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
          const found = alone.scan(text, '', new Budget(text.length))?.findings ?? []
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
      const cut = !whole.startsWith(literal)
        ? whole.slice(whole.indexOf(literal))
        : literal + whole.slice(literal.length, literal.length + 4)
      const found = alone.scan(`see ${cut} here and-so-on-for-a-while`, '', new Budget(1000))?.findings ?? []
      expect(found.map((finding) => finding.rule)).not.toContain(rule.id)
    }
  })
})

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

  it.each([`ssh-keygen -N 'tw0 words' -f id`, 'sshpass -p "tw0 words here" ssh a@b', 'mysql -p"tw0 words"'])(
    'take the whole of a quoted password: %s',
    (command) => {
      const text = redactor.text(command, {})
      expect(text).toContain('[REDACTED:command-password:')
      expect(text).not.toContain('words')
      expect(redactor.text(JSON.stringify({ command }), {})).not.toContain('words')
    },
  )

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
    '--- PASS: TestRun_IntegrationV1Fetch (0.05s)',
    '    --- PASS: TestRun_IntegrationV1Fetch/with_2_retries (0.05s)\n    --- FAIL: TestToken_V2Refresh (0.00s)',
    '--- PASS: TestRun_IntegrationV1FetchV2Sha9x (0.05s)',
    'PASSED tests/test_token.py::test_token_v2_abc9x8',
    ' ✓ test/a.test.ts > password > rejectsV1Abc2Def3Ghi 3ms',
    'PASS: gcc.dg/tree-ssa/pr12345-2.c execution test',
    'PASS: test-lib-v2.sh\nFAIL: test-lib-v3.sh\nXPASS: test-lib-v4.sh',
    'tests/test_auth.py::TestPassword::test_v1_fetch PASSED',
    ' ✓ test/a.test.ts > password > rejects_abc123_v2 3ms',
    'FAIL  test/a.test.ts > token > v1_fetch_2',
    'ok 12 - password: v2_fetch_1'.replace('password: ', 'password '),
    'Pwd: "C:\\\\Users\\\\bot1", Expected: "C:\\\\Users\\\\bot1"',
    '"PWD": "~/dev/project-2"',
    'MOUNT_PWD: `1/true` mounts the directory',
    'libsecrecy-26b112e0986c6acf.rlib,libpem-ed59bf920a0dd3d5.rlib,libtoken-0a726308dc299393.rlib',
    'tokens of a turn\n.entire/tmp/pre-prompt-019ed893-d2a6-7c30-a8b8-5a8a49cfa23e.json',
    'import { a } from "@/components/a1"',
    'src/a.ts:1234:case:x:y1z2w3',
    'ssh -p 2222 bot1@host',
    'docker run -p 8080:80 image1',
    'mkdir -p build2/out',
    'after `mysql -p`, `sshpass -p`, `docker login -p` or `ssh-keygen -N` and a1b2c3',
    'default = "a1b2c3d4"',
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
