// Sessions that the clients on the kit wrote, with the words of others in them replaced by one text: what they hold in lines,
// documents and databases is theirs, what they say is ours.
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { filesBelow } from './collect.ts'
import { unpackAgent } from './fixtures.ts'

const CLIENTS: Record<string, string> = {
  ...Object.fromEntries(
    'cline continue copilot droid gemini goose kilo kimi letta omp pi qwen'
      .split(' ')
      .map((client) => [client, 'tools']),
  ),
  opencode: 'thinking',
}
export const PUMPED_FLAVORS: readonly string[] = Object.keys(CLIENTS)

/** Where clients keep prompts, answers, commands and outputs. */
const SAID = /^(?:text|content|output|command|prompt|thinking|message|result|stdout|error|arguments)$/
/** Of each client: more would only take longer. */
const MOST_PLACES = 3

const homes = new Map<string, string>()
function homeOf(client: string): string {
  const known = homes.get(client) ?? join(unpackAgent(client), CLIENTS[client] as string)
  homes.set(client, known)
  return known
}

/** Puts the session of each client below a home. */
export function putPumped(home: string, text: string): void {
  for (const client of PUMPED_FLAVORS) {
    const from = homeOf(client)
    const place = new Places(text)
    for (const path of filesBelow(from).filter((one) => !one.endsWith('/expected.json'))) {
      const to = join(home, path.slice(from.length))
      cpSync(path, to, { recursive: true, preserveTimestamps: true })
      if (/\.jsonl?$/.test(path)) place.inFile(to)
    }
    for (const path of filesBelow(from).filter((one) => one.endsWith('.db')))
      place.inDatabase(join(home, path.slice(from.length)))
    if (place.count === 0) throw new Error(`nothing is said in the session of ${client}`)
  }
}

class Places {
  count = 0
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  inFile(path: string): void {
    const written = readFileSync(path, 'utf8')
    const documents = path.endsWith('.json') ? [written] : written.split('\n')
    writeFileSync(path, documents.map((one) => (one === '' ? '' : this.#inJson(one))).join('\n'))
  }

  /** JSON in any column of any table. */
  inDatabase(path: string): void {
    const database = new DatabaseSync(path)
    const all = <T>(sql: string): T[] => database.prepare(sql).all() as unknown as T[]
    for (const { name: table } of all<{ name: string }>(
      "SELECT name FROM sqlite_schema WHERE type = 'table'",
    ))
      for (const { name: column } of all<{ name: string }>(
        `SELECT name FROM pragma_table_info('${table}')`,
      )) {
        const holding = `SELECT rowid AS id, "${column}" AS told FROM "${table}" WHERE json_valid("${column}") AND "${column}" LIKE '%{%'`
        for (const { id: row, told: json } of all<{ id: number; told: string }>(holding))
          database
            .prepare(`UPDATE "${table}" SET "${column}" = ? WHERE rowid = ?`)
            .run(this.#inJson(json), row)
      }
    database.close()
  }

  #inJson = (json: string): string => JSON.stringify(this.#inside(JSON.parse(json), ''))

  #inside(value: unknown, name: string): unknown {
    if (typeof value === 'string') {
      if (!SAID.test(name) || value.length < 10 || /^[[{]/.test(value) || this.count >= MOST_PLACES)
        return value
      this.count++
      return `${value.slice(0, 40)} ${this.#text}`
    }
    if (Array.isArray(value)) return value.map((one) => this.#inside(one, name))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, this.#inside(one, key)]))
  }
}
