// How handlers stand in an agent's settings: put in, taken out, and found again. Pure; a text that is not understood, or an edit
// that would change anything else, is refused.
import { type ParseError, parse } from 'jsonc-parser'
import { parse as parseToml } from 'smol-toml'
import type { HookFacts, InstalledHook } from '../adapters/integration.ts'
import { type Fields, isRecord } from '../adapters/kit/guards.ts'
import { findHandlers, type Handler, isOurs, refuse, withHandler, withoutHandlers } from './settings.ts'

export interface HookForm {
  /** The text with our handler on each of the events, exactly once; the same text again where it already is so. */
  put(text: string, events: readonly string[], handler: Handler, where: string): string
  /** The text without any handler of ours; empty where nothing would be left. */
  take(text: string, where: string): string
  find(text: string, where: string): InstalledHook[]
}

export const formOf = ({ form = 'groups' }: HookFacts): HookForm => FORMS[form]

/** Lists of handlers by event, in a file that is ours alone. */
const lists: HookForm = {
  put(text, events, { type, command, timeout }, where) {
    lists.take(text, where)
    const entry = { type, bash: command, timeoutSec: timeout }
    const hooks = Object.fromEntries(events.map((event) => [event, [entry]]))
    return `${JSON.stringify({ version: 1, hooks }, null, 2)}\n`
  },
  take(text, where) {
    return entriesIn(text, where).length > lists.find(text, where).length
      ? refuse('hooks of others stand in our file', where)
      : ''
  },
  find: (text, where) =>
    entriesIn(text, where).flatMap(([event, group, entry]) => {
      const { type, bash, timeoutSec } = isRecord(entry) ? entry : {}
      const value = { type, command: bash, timeout: timeoutSec }
      return isOurs(value) ? [{ event, group, handler: 0, value }] : []
    }),
}

function entriesIn(text: string, where: string): [event: string, at: number, entry: unknown][] {
  if (text.trim() === '') return []
  const errors: ParseError[] = []
  const { hooks } = Object(parse(text, errors, { allowTrailingComma: true }) as unknown) as Fields
  if (errors.length > 0 || !isRecord(hooks)) return refuse('not a file of hooks', where)
  return Object.entries(hooks).flatMap(([event, entries]) =>
    (Array.isArray(entries) ? entries : [entries]).map((entry, at): [string, number, unknown] => [
      event,
      at,
      entry,
    ]),
  )
}

/** Tables at the end of a TOML file, each as it is written here. */
const TABLE = /\n\[\[hooks\]\]\nevent = "\w+"\ncommand = "[^\n]*"\ntimeout = \d+\n/g

const tables: HookForm = {
  put(text, events, handler, where) {
    const found = tables.find(text, where)
    const isThere = ({ event, value }: InstalledHook): boolean =>
      events.includes(event) && JSON.stringify(value) === JSON.stringify(handler)
    const wanted = new Set(found.filter(isThere).map(({ event }) => event)).size
    if (found.length === events.length && wanted === events.length) return text
    const bare = tables.take(text, where)
    const ours = events.map(
      (event) =>
        `\n[[hooks]]\nevent = "${event}"\ncommand = ${JSON.stringify(handler.command)}\ntimeout = ${handler.timeout}\n`,
    )
    const ended = bare === '' || bare.endsWith('\n') ? bare : `${bare}\n`
    return checked(text, `${ended}${ours.join('')}`, where)
  },
  take: (text, where) =>
    checked(
      text,
      text.replace(TABLE, (table) => (isOurs(tomlHooks(table, where)[0]) ? '' : table)),
      where,
    ),
  find: (text, where) =>
    tomlHooks(text, where).flatMap((one, group) => {
      if (!isOurs(one)) return []
      const { event, command, timeout } = one as Fields
      return [{ event: String(event), group, handler: 0, value: { type: 'command', command, timeout } }]
    }),
}

/** A person may have moved, or changed, what we wrote: then it is theirs to take out. */
function checked(before: string, after: string, where: string): string {
  const foreign = (text: string): string => {
    const hooks = tomlHooks(text, where).filter((one) => !isOurs(one))
    return JSON.stringify([{ ...tomlOf(text, where), hooks: undefined }, hooks])
  }
  if (foreign(before) === foreign(after)) return after
  return refuse('the file is written in a way that cannot be edited safely', where)
}

const tomlHooks = (text: string, where: string): unknown[] => {
  const { hooks } = tomlOf(text, where)
  return Array.isArray(hooks) ? (hooks as unknown[]) : []
}

function tomlOf(text: string, where: string): Fields {
  try {
    return parseToml(text)
  } catch (error) {
    return refuse(`not valid TOML: ${(error as Error).message.split('\n')[0]}`, where)
  }
}

const groups: HookForm = { put: withHandler, take: withoutHandlers, find: findHandlers }

/** What a file of ours says of itself, in a line each: as code of a module, or as a comment. */
const EVENTS = /^(?:const|#) events = (\[.*\])$/m
const HANDLER = /^(?:const|#) handler = (\{.*\})$/m

/** A file that is ours as a whole. */
function owned(textOf: (events: readonly string[], handler: Handler) => string): HookForm {
  const find: HookForm['find'] = (text, where) => {
    const [events, value] = [EVENTS, HANDLER].map((line) => line.exec(text)?.[1])
    if (events === undefined || value === undefined) return []
    try {
      const handler: unknown = JSON.parse(value)
      if (!isOurs(handler)) return []
      return (JSON.parse(events) as string[]).map((event, group) => ({
        event,
        group,
        handler: 0,
        value: handler,
      }))
    } catch {
      return refuse('a file of ours that somebody changed', where)
    }
  }
  const take: HookForm['take'] = (text, where) =>
    text.trim() === '' || find(text, where).length > 0 ? '' : refuse('not a file of ours', where)
  const put: HookForm['put'] = (text, events, handler, where) => {
    take(text, where)
    return textOf(events, handler)
  }
  return { put, take, find }
}

const WRITTEN =
  'Tells recollect that a session went on. Written by `recollect hooks install`; `recollect hooks uninstall` takes it away.'

const scriptText = (events: readonly string[], handler: Handler): string => `#!/bin/sh
# ${WRITTEN}
# events = ${JSON.stringify(events)}
# handler = ${JSON.stringify(handler)}
exec ${handler.command}
`

/** The agent is not kept waiting, and never hears of what goes wrong. */
const moduleText = (events: readonly string[], handler: Handler): string => `// ${WRITTEN}
import { spawn } from 'node:child_process'

const events = ${JSON.stringify(events)}
const handler = ${JSON.stringify(handler)}

export const Recollect = async () => ({
  event: async ({ event }) => {
    if (!events.includes(event.type)) return
    try {
      const child = spawn('/bin/sh', ['-c', handler.command], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
      child.on('error', () => {})
      child.stdin.on('error', () => {})
      const said = { hook_event_name: event.type.replaceAll('.', '_'), session_id: event.properties?.sessionID }
      child.stdin.end(JSON.stringify(said))
      child.unref()
    } catch {
      // The agent goes on, whatever becomes of this: the next sweep finds the session anyway.
    }
  },
})
`

const FORMS = { groups, lists, tables, plugin: owned(moduleText), script: owned(scriptText) }
