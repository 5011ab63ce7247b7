// How long an agent keeps its own transcripts: what its settings say, and a longer time in them, as a plan first and with a
// way back. Every other byte of the file stays.
import { type ParseError, parse } from 'jsonc-parser'
import type { Environment } from '../adapters/adapter.ts'
import type { Integration, KeepFacts } from '../adapters/integration.ts'
import { hasValue, LENIENT, putValue, removeValue } from './json-text.ts'
import { bodyOf, edited } from './settings.ts'
import { applySettings, lookAtFile, readText, type SettingsPlan } from './settings-file.ts'

export interface KeepPlan extends SettingsPlan {
  integration: Integration
  key: string
  fromDays: number
  toDays: number
}

const BACKUP = '.before-recollect-keeps'

/** The agents that delete transcripts. */
export type Keeper = Integration & { keeps: KeepFacts }
export const isKeeper = (one: Integration): one is Keeper => one.keeps !== undefined

/** As the agent reads it: a file or a value that is none is no setting. */
export function daysKept({ keeps }: Keeper, env: Environment): number {
  let text: string | undefined
  try {
    text = readText(keeps.file(env))
  } catch {
    return keeps.defaultDays
  }
  return daysIn(text ?? '', keeps)
}

function daysIn(text: string, keeps: KeepFacts): number {
  const settings: unknown = parse(bodyOf(text), [], LENIENT)
  if (keeps.switch !== undefined && valueIn(settings, keeps.switch) === false) return keeps.proposedDays
  return daysOf(valueIn(settings, keeps.key), keeps) ?? keeps.defaultDays
}

const pathOf = (key: string): string[] => key.split('.')

export const valueIn = (settings: unknown, key: string): unknown =>
  pathOf(key).reduce((value, name) => (Object(value) as Record<string, unknown>)[name], settings)

const UNITS: Record<string, number> = { h: 1 / 24, d: 1, w: 7, m: 30 }

function daysOf(value: unknown, { isText }: KeepFacts): number | undefined {
  const [, number, unit = ''] = (isText && /^(\d+)([hdwm])$/.exec(String(value))) || []
  const days = isText ? Number(number) * (UNITS[unit] ?? Number.NaN) : value
  return typeof days === 'number' && Number.isFinite(days) && days >= 0 ? days : undefined
}

/** What is put in its place. */
const proposed = ({ proposedDays, isText }: KeepFacts): unknown =>
  isText ? `${proposedDays}d` : proposedDays

/** A longer time; the same text where it is that long already. */
export function planLonger(integration: Keeper, env: Environment): KeepPlan {
  const { keeps } = integration
  const plan = lookAt(integration, env)
  if (plan.fromDays >= keeps.proposedDays) return plan
  const after = withDays(plan.before ?? '', keeps.key, proposed(keeps), plan.file)
  return { ...plan, after, toDays: keeps.proposedDays, writesBackup: true }
}

/** What was there before; nothing to do where somebody has set another time since. */
export function planAsBefore(integration: Keeper, env: Environment): KeepPlan {
  const { keeps } = integration
  const plan = lookAt(integration, env)
  const { before, file, backup } = plan
  const saved = readText(backup)
  if (before === undefined || saved === undefined || plan.fromDays !== keeps.proposedDays) return plan
  const undone = { ...plan, toDays: daysIn(saved, keeps), removesBackup: true }
  if (withDays(saved, keeps.key, proposed(keeps), file) !== before)
    return {
      ...undone,
      after: withDays(before, keeps.key, valueIn(parse(bodyOf(saved), [], LENIENT), keeps.key), file),
    }
  // Nothing else has changed since: give back the very bytes.
  return { ...undone, after: saved === '' ? undefined : saved }
}

export const applyKeeping = (plan: KeepPlan): void => applySettings(plan)

function lookAt(integration: Keeper, env: Environment): KeepPlan {
  const { keeps } = integration
  const plan = lookAtFile(keeps.file(env), BACKUP)
  const days = daysIn(plan.before ?? '', keeps)
  return { ...plan, integration, key: keeps.key, fromDays: days, toDays: days }
}

/** The text with that value, or (undefined) without one. */
function withDays(text: string, key: string, days: unknown, where: string): string {
  const path = pathOf(key)
  const others = (body: string): string => {
    const errors: ParseError[] = []
    return JSON.stringify([without(parse(body, errors, LENIENT), path), errors.length])
  }
  return edited(
    text,
    where,
    (body) => (days === undefined ? taken(body, path) : putValue(body, path, days)),
    others,
  )
}

/** With what would be left empty by that. */
function taken(text: string, path: readonly string[]): string {
  if (path.length === 0 || !hasValue(text, [...path])) return text
  const above = path.slice(0, -1)
  const isAlone = Object.keys(Object(valueIn(parse(text, [], LENIENT), above.join('.')))).length === 1
  return above.length > 0 && isAlone ? taken(text, above) : removeValue(text, [...path])
}

/** A value without what stands at a path, and without objects that are empty then. */
function without(value: unknown, [name = '', ...rest]: readonly string[]): unknown {
  if (typeof value !== 'object' || value === null) return value
  const { [name]: inner, ...others } = value as Record<string, unknown>
  const left = rest.length > 0 ? without(inner, rest) : undefined
  const isEmpty = left === undefined || JSON.stringify(left) === '{}'
  return isEmpty ? others : { ...others, [name]: left }
}
