// Proves at start that the redactor is whole: known shapes are found, plain text is left alone. The samples are put
// together here so that no source file holds anything that looks like a secret.

/** Random-looking, but the same in every run. */
function fill(alphabet: string, length: number): string {
  let state = 7
  let text = ''
  while (text.length < length) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    text += alphabet[Math.floor(state / 65_536) % alphabet.length]
  }
  return text
}

const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const MIXED = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'
const SAMPLES: [rule: string, make: () => [lead: string, secret: string, tail: string]][] = [
  ['aws-access-key', () => ['at line one\n', `AKIA${fill(UPPER, 16)}`, '\n']],
  ['github-token', () => ['{\\"out\\":\\"x\\n', `ghp_${fill(MIXED, 36)}`, '\\n\\"}']],
  ['anthropic-key', () => ['key ', `sk-ant-api03-${fill(MIXED, 93)}AA`, ' end']],
  ['jwt', () => ['cookie ', `eyJ${fill(MIXED, 30)}.eyJ${fill(MIXED, 40)}.${fill(MIXED, 43)}`, ' ']],
  [
    'private-key',
    () => ['-----BEGIN PRIVATE KEY-----', `\n${fill(MIXED, 64)}\n`, '-----END PRIVATE KEY-----'],
  ],
  ['url-password', () => ['postgres://app:', fill(MIXED, 12), '@db.internal/x']],
  ['password', () => ['password = "', `${fill(MIXED, 9)}!7`, '"']],
  ['assigned-secret', () => ['vendor_token: ', fill(MIXED, 32), '\n']],
]
const PLAIN =
  'const key = tokens.map((token) => token.value) // see https://example.org/a:b for the password policy'

/** Throws if a sample is not found under its rule or plain text is changed. */
export function selfTest(redact: (text: string, counts: Record<string, number>) => string): void {
  for (const [rule, make] of SAMPLES) {
    const [lead, secret, tail] = make()
    const counts: Record<string, number> = {}
    const out = redact(lead + secret + tail, counts)
    if (counts[rule] !== 1 || !out.startsWith(lead) || !out.endsWith(tail) || out.includes(secret)) {
      throw new Error(`self-test: rule ${rule} does not find its sample`)
    }
  }
  if (redact(PLAIN, {}) !== PLAIN) throw new Error('self-test: plain text was changed')
}
