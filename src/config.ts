// Settings: one table (settings.ts), from which come the environment variables, the flags, the TOML file and docs/config.md.
// Later wins: built-in default, config.toml, environment, flag. A value that is not possible is refused, with its place.
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { parse as parseToml, TomlError } from 'smol-toml'
import { errnoOf, fromSystem, RecollectError } from './errors.ts'
import { SETTINGS, type SettingRow, type SettingTypes } from './settings.ts'
import { parseDuration } from './times.ts'

export { SETTINGS } from './settings.ts'

type KnownRow = (typeof SETTINGS)[number]
export type SettingKey = KnownRow['key']
type ValueOf<K extends SettingKey> = SettingTypes[Extract<KnownRow, { key: K }>['type']]

export interface ConfigSources {
  env?: Record<string, string | undefined>
  /** Flag values by setting key. */
  flags?: Partial<Record<SettingKey, string>>
  /** Overrides where config.toml lies. */
  file?: string
}

export class Config {
  /** Where everything of ours lies. */
  readonly home: string
  readonly file: string
  readonly #values = new Map<string, { value: unknown; origin: string }>()

  constructor(sources: ConfigSources = {}) {
    const env = sources.env ?? process.env
    this.home = homeDirectory(env)
    this.file = sources.file ?? join(this.home, 'config.toml')
    const toml = readToml(this.file, sources.file !== undefined)
    refuseUnknown(toml, this.file)
    for (const row of SETTINGS as readonly SettingRow[])
      this.#values.set(row.key, this.#pick(row, toml, env, sources.flags ?? {}))
  }

  get<K extends SettingKey>(key: K): ValueOf<K> {
    return this.#values.get(key)?.value as ValueOf<K>
  }

  /** Which layer gave the value: `default`, the file's path, the variable's or the flag's name. */
  origin(key: SettingKey): string {
    return this.#values.get(key)?.origin ?? 'default'
  }

  /** Where an error finds it: the flag or variable it came from, else its key in config.toml. */
  place(key: SettingKey): string {
    const origin = this.origin(key)
    return origin === this.file || origin === 'default' ? `${this.file}: ${key}` : origin
  }

  #pick(
    row: SettingRow,
    toml: Record<string, unknown>,
    env: Record<string, string | undefined>,
    flags: Partial<Record<string, string>>,
  ): { value: unknown; origin: string } {
    const flag = flags[row.key]
    if (flag !== undefined)
      return { value: check(row, flag, row.flag ?? row.key), origin: row.flag ?? 'flag' }
    const variable = row.env === undefined ? undefined : env[row.env]
    if (variable !== undefined && variable !== '') {
      return { value: check(row, variable, row.env as string), origin: row.env as string }
    }
    const written = lookUp(toml, row.key)
    if (written !== undefined)
      return {
        value: check(row, written, `${this.file}: ${row.key}`, dirname(this.file)),
        origin: this.file,
      }
    return { value: check(row, row.default, 'default'), origin: 'default' }
  }
}

/** $RECOLLECT_HOME, else recollect/ in the XDG data directory: never a place that depends on where a program was started. */
export function homeDirectory(env: Record<string, string | undefined>): string {
  if (env['RECOLLECT_HOME']) return resolve(env['RECOLLECT_HOME'])
  const { XDG_DATA_HOME = '' } = env
  // A relative one counts as none, as its specification has it.
  if (isAbsolute(XDG_DATA_HOME)) return join(XDG_DATA_HOME, 'recollect')
  const home = env['HOME'] || homedir()
  if (isAbsolute(home)) return join(home, '.local', 'share', 'recollect')
  throw new RecollectError('BAD_CONFIG', `the home directory is not known: HOME is ${JSON.stringify(home)}`, {
    where: 'HOME',
    hint: 'set HOME to a whole path; or set RECOLLECT_HOME, to where the memory is to lie',
  })
}

function readToml(path: string, mustExist: boolean): Record<string, unknown> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' && !mustExist) return {}
    throw fromSystem(error, 'cannot read the configuration', path, 'read')
  }
  try {
    return parseToml(text)
  } catch (cause) {
    const place = cause instanceof TomlError ? `:${cause.line}:${cause.column}` : ''
    throw new RecollectError('BAD_CONFIG', 'not valid TOML', {
      where: path + place,
      cause,
      hint: 'see docs/config.md for an example',
    })
  }
}

function lookUp(table: Record<string, unknown>, key: string): unknown {
  let at: unknown = table
  for (const part of key.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined
    at = (at as Record<string, unknown>)[part]
  }
  return at
}

/** A misspelt key would otherwise be a setting that silently does nothing. */
function refuseUnknown(table: Record<string, unknown>, file: string, prefix = ''): void {
  const rows: readonly SettingRow[] = SETTINGS
  for (const [name, value] of Object.entries(table)) {
    const key = prefix + name
    if (rows.some((row) => row.key === key)) continue
    const isSection = rows.some((row) => row.key.startsWith(`${key}.`))
    if (isSection && !isTable(value))
      throw new RecollectError('BAD_CONFIG', `${key} must be a table, not ${told(value)}`, {
        where: `${file}: ${key}`,
        hint: `settings stand below [${key}]; docs/config.md lists them`,
      })
    if (!isSection) {
      const near = nearest(
        key,
        rows.map((row) => row.key),
      )
      throw new RecollectError('BAD_CONFIG', `unknown setting ${key}`, {
        where: `${file}: ${key}`,
        hint: near ? `did you mean ${near}?` : 'docs/config.md lists the settings',
      })
    }
    refuseUnknown(value as Record<string, unknown>, file, `${key}.`)
  }
}

/** A relative path in a file means the same wherever a program was started: it begins where the file lies. */
function check(row: SettingRow, value: unknown, where: string, base = ''): unknown {
  const refuse = (expected: string, cause?: unknown): never => {
    throw new RecollectError('BAD_CONFIG', `${row.key} must be ${expected}, not ${told(value)}`, {
      where,
      hint: `the default is ${JSON.stringify(row.default)}`,
      cause,
    })
  }
  switch (row.type) {
    case 'text':
      if (typeof value !== 'string') return refuse('a text')
      if (row.choices && !row.choices.includes(value)) return refuse(`one of ${row.choices.join(', ')}`)
      return value
    case 'path':
      if (typeof value !== 'string') return refuse('a path')
      return value === '' ? '' : resolve(base, value.replace(/^~(?=\/|$)/, homedir()))
    case 'url':
      return value === '' || isWebAddress(value)
        ? value
        : refuse('an address such as "https://hub.example/events", without a password in it')
    case 'bytes':
      return parseBytes(value) ?? refuse('a size such as 500, "64MiB" or "4GiB"')
    case 'duration':
      return parseDuration(value) ?? refuse('a duration such as "500ms", "30s", "5m", "2h" or "7d"')
    case 'count': {
      const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
      return Number.isSafeInteger(number) && (number as number) >= 0
        ? number
        : refuse('a whole number from 0 on')
    }
    case 'usd': {
      const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
      return typeof number === 'number' && number >= 0 && number < 1e9
        ? number
        : refuse('an amount from 0 on')
    }
    case 'patterns': {
      const wrong = isTexts(value) ? value.map(patternFault).find(Boolean) : new Error('not a list of texts')
      return wrong ? refuse('a list of regular expressions', wrong) : value
    }
    case 'names':
      return isTable(value)
        ? checkEach(row.key, value, where, isText, 'a text that is not empty')
        : refuse('a table')
    case 'lists':
      return isTable(value) ? checkEach(row.key, value, where, isTexts, 'a list of texts') : refuse('a table')
    case 'map':
      return isTable(value) ? value : refuse('a table')
    case 'paths':
      return isTexts(value)
        ? value.map((path) => resolve(base, path.replace(/^~(?=\/|$)/, homedir())))
        : refuse('a list of paths')
    case 'roots':
      return rootsIn(value, base) ?? refuse('tables such as [sources.<flavor>] with roots = ["~/archive"]')
  }
}

const isTable = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)

/** As a part of a key in TOML. */
const nameOf = (key: string): string => (/^[\w-]+$/.test(key) ? key : JSON.stringify(key))

/** A value as a message can have it. */
function told(value: unknown): string {
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value)
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}

function patternFault(text: string): Error | undefined {
  try {
    new RegExp(text, 'u')
    return undefined
  } catch (error) {
    return error as Error
  }
}

/** The table, if all its values are right; else the wrong one is named. */
function checkEach(
  key: string,
  table: Record<string, unknown>,
  where: string,
  isRight: (value: unknown) => boolean,
  expected: string,
): unknown {
  const wrong = Object.entries(table).find(([, value]) => !isRight(value))
  if (!wrong) return table
  const name = nameOf(wrong[0])
  throw new RecollectError('BAD_CONFIG', `${key}.${name} must be ${expected}, not ${told(wrong[1])}`, {
    where: `${where}.${name}`,
    hint: 'docs/config.md says what stands there',
  })
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every(isText)

function rootsIn(value: unknown, base: string): SettingTypes['roots'] | undefined {
  const found: SettingTypes['roots'] = {}
  for (const [flavor, table] of Object.entries(isTable(value) ? value : { '': value })) {
    // A setting of its own.
    if (flavor === 'plugins' && Array.isArray(table)) continue
    const { roots, ...others } = isTable(table) ? table : {}
    if (!isTexts(roots) || Object.keys(others).length > 0) return undefined
    // What ~ stands for is known where roots are looked for, for agents' own ones as well.
    found[flavor] = { roots: roots.map((root) => (root.startsWith('~/') ? root : resolve(base, root))) }
  }
  return found
}

const BYTE_UNITS: Record<string, number> = {
  '': 1,
  b: 1,
  k: 1000,
  kb: 1000,
  kib: 1024,
  m: 1e6,
  mb: 1e6,
  mib: 1024 ** 2,
  g: 1e9,
  gb: 1e9,
  gib: 1024 ** 3,
  t: 1e12,
  tb: 1e12,
  tib: 1024 ** 4,
}

/** `"4GiB"` → 4294967296; undefined if it is no size. */
export function parseBytes(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : undefined
  const match = typeof value === 'string' ? /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(value.trim()) : null
  const unit = match ? BYTE_UNITS[(match[2] as string).toLowerCase()] : undefined
  if (!match || unit === undefined) return undefined
  const bytes = Math.round(Number(match[1]) * unit)
  return Number.isSafeInteger(bytes) ? bytes : undefined
}

function isWebAddress(value: unknown): boolean {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined
  return /^https?:$/.test(url?.protocol ?? '') && url?.username === '' && url.password === ''
}

/** The candidate closest in spelling, if any is close enough to be meant. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined
  let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1
  for (const candidate of candidates) {
    const distance = editDistance(word, candidate)
    // Of a short name nothing may be left of it.
    if (distance >= candidate.length) continue
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance]
  }
  return best
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(swap, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}

/** docs/config.md, from the table. */
export function configDocs(): string {
  const lines = [
    '# Settings',
    '',
    'Made from the table in `src/settings.ts` by `npm run docs`. Later wins: default, `config.toml`, environment, flag.',
    '`config.toml` lies in `$RECOLLECT_HOME` (default: `recollect/` in the XDG data directory). Unknown keys are refused.',
    'A relative path in it begins where it lies, one in a variable or a flag where you are.',
    'Sizes are written `500`, `"64MiB"`, `"4GiB"`; durations `"500ms"`, `"30s"`, `"7d"`.',
    '',
    '| key | default | environment | flag | meaning |',
    '|---|---|---|---|---|',
  ]
  for (const row of SETTINGS as readonly SettingRow[]) {
    const choices = row.choices ? ` One of ${row.choices.map((one) => `\`${one}\``).join(', ')}.` : ''
    const code = (text: string | undefined): string => (text === undefined ? '' : `\`${text}\``)
    const fallback = `\`${JSON.stringify(row.default)}\``
    lines.push(
      `| \`${row.key}\` | ${fallback} | ${code(row.env)} | ${code(row.flag)} | ${row.doc}${choices} |`,
    )
  }
  return `${lines.join('\n')}\n`
}
