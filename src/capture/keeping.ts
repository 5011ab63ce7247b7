// How long an agent keeps its own transcripts: what its settings say, and a longer time in them, as a plan first and with a
// way back. Every other byte of the file stays.
import { type ParseError, parse } from 'jsonc-parser'
import type { Environment } from '../adapters/adapter.ts'
import type { Integration, KeepFacts } from '../adapters/integration.ts'
import { RecollectError } from '../errors.ts'
import { addValue, hasValue, LENIENT, removeValue, replaceValue } from './json-text.ts'
import { checkSettings } from './settings.ts'
import { applySettings, lookAtFile, readText, type SettingsPlan } from './settings-file.ts'

export interface KeepPlan extends SettingsPlan {
  integration: Integration
  key: string
  fromDays: number
  toDays: number
}

const BACKUP = '.before-recollect-keeps'
const BOM = '\ufeff'

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

function daysIn(text: string, { key, defaultDays }: KeepFacts): number {
  const days: unknown = Object(parse(withoutBom(text), [], LENIENT) as unknown)[key]
  return typeof days === 'number' && Number.isFinite(days) && days >= 0 ? days : defaultDays
}

/** A longer time; the same text where it is that long already. */
export function planLonger(integration: Keeper, env: Environment): KeepPlan {
  const { keeps } = integration
  const plan = lookAt(integration, env)
  if (plan.fromDays >= keeps.proposedDays) return plan
  const after = withDays(plan.before ?? '', keeps.key, keeps.proposedDays, plan.file)
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
  if (withDays(saved, keeps.key, keeps.proposedDays, file) !== before)
    return { ...undone, after: withDays(before, keeps.key, ownDays(saved, keeps.key), file) }
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

/** The value as it stands in a text; undefined where it has none. */
const ownDays = (text: string, key: string): unknown =>
  (Object(parse(withoutBom(text), [], LENIENT) as unknown) as Record<string, unknown>)[key]

/** The text with that value, or (undefined) without one. */
function withDays(text: string, key: string, days: unknown, where: string): string {
  const bare = withoutBom(text)
  const body = bare.trim() === '' ? '{}\n' : bare
  checkSettings(body, where)
  const result = !hasValue(body, [key])
    ? days === undefined
      ? body
      : addValue(body, [], days, key)
    : days === undefined
      ? removeValue(body, [key])
      : replaceValue(body, [key], days)
  checkOthers(body, result, key, where)
  return text.startsWith(BOM) ? BOM + result : result
}

const withoutBom = (text: string): string => (text.startsWith(BOM) ? text.slice(1) : text)

/** An edit that would change anything else is refused. */
function checkOthers(before: string, after: string, key: string, where: string): void {
  const others = (text: string): string => {
    const errors: ParseError[] = []
    const { [key]: _, ...rest } = parse(text, errors, LENIENT) as Record<string, unknown>
    return JSON.stringify([rest, errors.length])
  }
  if (others(before) === others(after)) return
  throw new RecollectError('BAD_INPUT', 'the file is written in a way that cannot be edited safely', {
    where,
    hint: 'nothing was changed; format the file as plain JSON, then try again',
  })
}
