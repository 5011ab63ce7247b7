// What kinds of records a client writes, and which fields they have: compared between what it wrote today and what our fixtures
// hold, this tells that a format has moved before anybody's sessions are misread.
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'

/** What the model and its tools put in: any field may stand there. */
const FREE = new Set(
  'input arguments args parameters parsedArgs rawInput rawOutput toolUseResult details result structuredPatch env schema input_schema properties'.split(
    ' ',
  ),
)
const MAX_DEPTH = 6
const KINDS = ['type', 'role', 'subtype', 'customType', 'kind', 'method', 'sessionUpdate', 'event']
const INSIDE = ['message', 'payload', 'data', 'item', 'update', 'params', 'event']

/** Kinds of records → names of their fields. */
export function shapesOf(paths) {
  const shapes = new Map()
  const note = (kind, record) => {
    const fields = shapes.get(kind) ?? new Set()
    shapes.set(kind, fields)
    fieldsIn(record, '', fields, 0)
  }
  for (const path of paths) {
    if (isDatabase(path)) noteTables(path, note, shapes)
    else for (const record of recordsIn(path)) note(kindOf(record), record)
  }
  return shapes
}

function recordsIn(path) {
  const text = readFileSync(path, 'utf8')
  if (path.endsWith('.json')) return [parsed(text)].flat().filter(isObject)
  return text.split('\n').map(parsed).filter(isObject)
}

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
/** A word that names a kind, and not one thing of it. */
const isWord = (value) =>
  typeof value === 'string' && /^[\w./$-]{1,60}$/.test(value) && !/\d{4}|[0-9a-f]{8}/.test(value)

function kindOf(record, depth = 0) {
  const own = KINDS.filter((name) => isWord(record[name])).map((name) => record[name])
  const inner =
    depth < 3
      ? INSIDE.filter((name) => isObject(record[name])).map((name) => kindOf(record[name], depth + 1))
      : []
  return [...own, ...inner].filter(Boolean).join(':') || (depth === 0 ? '(no type)' : '')
}

function fieldsIn(value, at, fields, depth) {
  if (depth > MAX_DEPTH) return
  if (Array.isArray(value)) {
    for (const one of value)
      fieldsIn(one, `${at}[]${isObject(one) && isWord(one.type) ? `<${one.type}>` : ''}`, fields, depth + 1)
    return
  }
  if (!isObject(value)) return
  for (const [name, inner] of Object.entries(value)) {
    // Maps by id or path are one field.
    const field = `${at}.${/^[\w$-]{1,40}$/.test(name) && !/\d{3}|[0-9a-f]{8}/.test(name) ? name : '*'}`
    fields.add(field)
    if (!FREE.has(name)) fieldsIn(inner, field, fields, depth + 1)
  }
}

const isDatabase = (path) => readFileSync(path).subarray(0, 15).toString('latin1') === 'SQLite format 3'

/** From a copy: to open it would change it. */
function noteTables(path, note, shapes) {
  const directory = mkdtempSync(join(tmpdir(), 'recollect-shapes-'))
  try {
    const copy = join(directory, basename(path))
    for (const end of ['', '-wal']) if (existsSync(path + end)) cpSync(path + end, copy + end)
    const database = new DatabaseSync(copy)
    for (const { name } of database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all())
      noteTable(database, name, note, shapes)
    database.close()
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

function noteTable(database, name, note, shapes) {
  const columns = database.prepare('SELECT name FROM pragma_table_info(?)').all(name)
  shapes.set(`table ${name}`, new Set(columns.map((column) => `.${column.name}`)))
  for (const row of database.prepare(`SELECT * FROM "${name.replaceAll('"', '""')}" LIMIT 5000`).all())
    for (const [column, value] of Object.entries(row)) {
      const inner = typeof value === 'string' && /^\s*[[{]/.test(value) ? [parsed(value)].flat() : []
      for (const one of inner.filter(isObject)) note(`${name}.${column} ${kindOf(one)}`, one)
    }
}

/** What stands in `now` and not in `known`: kinds, and fields with the kinds that have them. Of a new field not what is in it. */
export function newIn(now, known) {
  const fields = new Map()
  for (const [kind, names] of now) {
    const old = known.get(kind)
    if (!old) continue
    const added = [...names].filter((name) => !old.has(name))
    for (const name of added)
      if (
        !added.some(
          (other) => name !== other && /^[.[]/.test(name.slice(other.length)) && name.startsWith(other),
        )
      )
        fields.set(name, [...(fields.get(name) ?? []), kind])
  }
  return { kinds: [...now.keys()].filter((kind) => !known.has(kind)).sort(), fields: [...fields].sort() }
}
