// Edits an agent's JSON settings as text: our handlers go in and out, and every other byte, comments included, stays.
// Pure; a text that is not understood, or an edit that would change anything else, is refused.
import { type Node, type ParseError, parse, parseTree, printParseErrorCode } from 'jsonc-parser'
import type { InstalledHook } from '../adapters/integration.ts'
import { isRecord } from '../adapters/kit/guards.ts'
import { RecollectError } from '../errors.ts'
import { addValue, hasCommentAround, hasValue, LENIENT, removeValue, replaceValue } from './json-text.ts'

/** Every handler of ours, whichever version or directory it is from, runs a script of this name. */
export const HANDLER_NAME = 'recollect-hook.cjs'

export interface Handler {
  type: 'command'
  command: string
  timeout: number
}

/** Of a group nothing is certain: agents ignore what they do not understand. */
type Hooks = Record<string, ({ hooks?: unknown } | null)[]>

/** No editor keeps it, but some write it. */
const BOM = '\ufeff'

/** What is edited of a file: without that mark; an empty file is one that says nothing. */
export function bodyOf(text: string): string {
  const body = text.startsWith(BOM) ? text.slice(1) : text
  return body.trim() === '' ? '{}\n' : body
}

/** The text with our handler on each of the events, exactly once. The same text again where it already is so. */
export function withHandler(
  text: string,
  events: readonly string[],
  handler: Handler,
  where: string,
): string {
  const change = (body: string): string => {
    let result = body
    const found = findIn(result, where)
    for (const event of events) {
      const [ours, ...more] = found.filter((one) => one.event === event)
      if (!ours) result = insert(result, event, handler)
      else if (JSON.stringify(ours.value) !== JSON.stringify(handler))
        result = replaceValue(result, pathOf(ours), handler)
      for (const one of more.reverse()) result = takeOut(result, one, where)
    }
    // An event that an earlier version asked for.
    for (const one of found.reverse()) if (!events.includes(one.event)) result = takeOut(result, one, where)
    return result
  }
  return edited(text, where, change, foreignPart)
}

/** The text without any handler of ours, and without what would be left empty by that. */
export function withoutHandlers(text: string, where: string): string {
  const change = (body: string): string =>
    findIn(body, where)
      .reverse()
      .reduce((result, one) => takeOut(result, one, where), body)
  return edited(text, where, change, foreignPart)
}

/** Where our handlers stand. Throws BAD_INPUT for a file that is no such settings file. */
export const findHandlers = (text: string, where: string): InstalledHook[] => findIn(bodyOf(text), where)

/** The text after a change of its body. Refused where `others`, all that is not ours, would not be what it was. */
export function edited(
  text: string,
  where: string,
  change: (body: string) => string,
  others: (body: string, where: string) => string,
): string {
  const body = bodyOf(text)
  checkSettings(body, where)
  const result = change(body)
  if (result === body) return text
  if (others(result, where) === others(body, where)) return text.startsWith(BOM) ? BOM + result : result
  throw new RecollectError('BAD_INPUT', 'the file is written in a way that cannot be edited safely', {
    where,
    hint: 'nothing was changed; format the file as plain JSON, then try again',
  })
}

/** Throws BAD_INPUT for a text that is no JSON object, or in which it is not certain which value counts. */
export function checkSettings(text: string, where: string): void {
  const errors: ParseError[] = []
  const root = parseTree(text, errors, LENIENT)
  const [error] = errors
  if (error)
    refuse(`not valid JSON: ${printParseErrorCode(error.error)}`, `${where}:${lineAt(text, error.offset)}`)
  if (root?.type !== 'object') refuse('the settings are no JSON object', where)
  checkTwins(root as Node, where)
}

function readHooks(text: string, where: string): Hooks {
  checkSettings(text, where)
  const { hooks } = parse(text, [], LENIENT) as { hooks?: unknown }
  if (hooks === undefined) return {}
  if (!isRecord(hooks)) refuse('"hooks" is no object', where)
  for (const [event, groups] of Object.entries(hooks as object))
    if (!Array.isArray(groups)) refuse(`"hooks"."${event}" is no list`, where)
  return hooks as Hooks
}

/** Of two equal keys a parser takes one, and not each the same one. */
function checkTwins(root: Node, where: string): void {
  const objects = [root, ...(root.children ?? []).flatMap((property) => property.children?.[1] ?? [])]
  for (const object of objects.filter((node) => node.type === 'object')) {
    const keys = (object.children ?? []).map((property) => String(property.children?.[0]?.value))
    const twin = keys.find((key, at) => keys.indexOf(key) !== at)
    if (twin !== undefined) refuse(`the key "${twin}" stands there twice`, where)
  }
}

export function refuse(what: string, where: string): never {
  throw new RecollectError('BAD_INPUT', what, { where, hint: 'fix the file by hand; nothing was changed' })
}

const lineAt = (text: string, offset: number): number => text.slice(0, offset).split('\n').length

function findIn(text: string, where: string): InstalledHook[] {
  const found: InstalledHook[] = []
  for (const [event, groups] of Object.entries(readHooks(text, where)))
    for (const [group, entry] of groups.entries())
      for (const [handler, value] of listOf(entry).entries())
        if (isOurs(value)) found.push({ event, group, handler, value })
  return found
}

const listOf = (entry: unknown): unknown[] =>
  isRecord(entry) && Array.isArray(entry['hooks']) ? (entry['hooks'] as unknown[]) : []

export const isOurs = (value: unknown): boolean =>
  isRecord(value) &&
  typeof value['command'] === 'string' &&
  new RegExp(`(^|[/\\\\'" ])${HANDLER_NAME.replaceAll('.', '\\.')}(['" ]|$)`).test(value['command'])

/** Behind what is there: agents name a handler by its position when they note that it is trusted. */
function insert(text: string, event: string, handler: Handler): string {
  const group = { hooks: [handler] }
  if (hasValue(text, ['hooks', event])) return addValue(text, ['hooks', event], group)
  if (hasValue(text, ['hooks'])) return addValue(text, ['hooks'], [group], event)
  return addValue(text, [], { [event]: [group] }, 'hooks')
}

const pathOf = ({ event, group, handler }: InstalledHook): (string | number)[] => [
  'hooks',
  event,
  group,
  'hooks',
  handler,
]

/** With what would be left empty around it, unless a person's comment stands there. */
function takeOut(text: string, place: InstalledHook, where: string): string {
  const hooks = readHooks(text, where)
  const groups = hooks[place.event] as Hooks[string]
  const whole = pathOf(place)
  const counts = [listOf(groups[place.group]).length, groups.length, Object.keys(hooks).length]
  let path = whole
  for (const [at, length] of [3, 2, 1].entries()) {
    const outer = whole.slice(0, length)
    if (counts[at] !== 1 || hasCommentAround(text, outer, path)) break
    path = outer
  }
  return removeValue(text, path)
}

/** Everything in a text that is not ours, in one order. A group without handlers says nothing. */
function foreignPart(text: string, where: string): string {
  const { hooks: _, ...settings } = parse(text, [], LENIENT) as Record<string, unknown>
  const hooks = Object.entries(readHooks(text, where)).map(([event, groups]) => [
    event,
    groups
      .map((group) =>
        listOf(group).some(isOurs) ? { ...group, hooks: listOf(group).filter((one) => !isOurs(one)) } : group,
      )
      .filter((group) => !(Array.isArray(group?.hooks) && group.hooks.length === 0)),
  ])
  const kept = hooks.filter(([, groups]) => (groups as unknown[]).length > 0)
  return JSON.stringify([settings, kept])
}
