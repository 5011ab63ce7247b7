// Ledger and digests of a team as Parquet files, one for each day (UTC), for whatever reads such: DuckDB, Spark, a warehouse.
// A day's file is written beside its place and put there whole; the same day again gives the same rows.
import { closeSync, openSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fromSystem } from '../errors.ts'
import { ensureDirectory } from '../files/directory.ts'
import type { Fleet } from '../store/postgres/database.ts'
import { type ColumnType, daysOf, EXPORTS, type Exported, pageOf } from '../store/postgres/readers.ts'
import { settle } from '../store/postgres/settle.ts'

export interface ExportOptions {
  team: string
  directory: string
  since: number
  until: number
}

export interface ExportedFile {
  path: string
  rows: number
}

/** Rows that are held at a time. */
const PAGE = 10_000

export async function exportTeam(fleet: Fleet, options: ExportOptions): Promise<ExportedFile[]> {
  const { team, directory, since, until } = options
  await settle(fleet, team)
  const files: ExportedFile[] = []
  for (const [name, what] of Object.entries(EXPORTS)) {
    const days = await daysOf(fleet, what, team, since, until)
    for (const day of days) {
      const folder = join(directory, name, `team=${encodeURIComponent(team)}`, `day=${day}`)
      ensureDirectory(folder, 0o700, false)
      files.push(await writeDay(fleet, what, team, day, join(folder, 'part-0.parquet')))
    }
  }
  return files
}

async function writeDay(
  fleet: Fleet,
  what: Exported,
  team: string,
  day: string,
  path: string,
): Promise<ExportedFile> {
  const { fileWriter, ParquetWriter } = await import('hyparquet-writer')
  const beside = `${path}.part`
  try {
    // Digests are words of people: nobody else's to read.
    closeSync(openSync(beside, 'w', 0o600))
    const columns = Object.entries(what.columns)
    const writer = new ParquetWriter({
      writer: fileWriter(beside),
      schema: [
        { name: 'root', num_children: columns.length },
        ...columns.map(([name, type]) => ({
          name: bare(name),
          repetition_type: 'OPTIONAL' as const,
          ...PARQUET[type],
        })),
      ],
    })
    let rows = 0
    for (let after: string[] | undefined; ; ) {
      const page = await pageOf(fleet, what, { team, day, after, limit: PAGE })
      if (page.length > 0)
        await writer.write({
          columnData: columns.map(([name, type]) => ({
            name: bare(name),
            data: page.map((row) => parquetValue(row[bare(name)], type)),
          })),
          rowGroupSize: PAGE,
        })
      rows += page.length
      if (page.length < PAGE) break
      const last = page.at(-1) as Record<string, string>
      after = what.key.map((name) => last[bare(name)] as string)
    }
    await writer.finish()
    renameSync(beside, path)
    return { path, rows }
  } catch (error) {
    rmSync(beside, { force: true })
    throw fromSystem(error, 'cannot write the export', path)
  }
}

const bare = (name: string): string => name.slice(name.indexOf('.') + 1)

const PARQUET = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  count: { type: 'INT64' },
  time: { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' },
  flag: { type: 'BOOLEAN' },
} as const

function parquetValue(value: unknown, type: ColumnType): unknown {
  if (value === null || value === undefined) return undefined
  if (type === 'count') return BigInt(value as number)
  return type === 'time' ? new Date(value as number) : value
}
