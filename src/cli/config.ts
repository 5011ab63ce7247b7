// `recollect config`: the settings in force.
import { configDocs, SETTINGS, type SettingKey } from '../config.ts'
import { checkedConfig } from '../doctor/settings.ts'
import { paint } from './colour.ts'
import { type FormFlags, printCsv } from './csv.ts'
import { print, printFolded, write } from './print.ts'

export function showConfig(options: FormFlags & { docs?: boolean }): void {
  if (options.docs) {
    write(configDocs())
    return
  }
  const config = checkedConfig()
  const rows = SETTINGS.map(({ key }) => ({ key, value: config.get(key), origin: config.origin(key) }))
  if (options.json) {
    write(`${JSON.stringify({ home: config.home, file: config.file, settings: rows }, null, 2)}\n`)
    return
  }
  if (options.csv) {
    printCsv(rows)
    return
  }
  print(`home  ${config.home}\nfile  ${config.file}\n`)
  const width = Math.max(...rows.map((row) => row.key.length))
  for (const row of rows)
    printFolded(
      `${row.key.padEnd(width)}  ${written(row.key, row.value)}  ${paint.dim(`(${row.origin})`)}`,
      4,
    )
}

/** As it would stand in config.toml: sizes and durations with their unit. */
function written(key: SettingKey, value: unknown): string {
  const type = SETTINGS.find((row) => row.key === key)?.type
  const units = type === 'bytes' ? BYTES : type === 'duration' ? DURATIONS : []
  const fit = typeof value === 'number' && value > 0 ? units.find(([size]) => value % size === 0) : undefined
  return fit ? `"${(value as number) / fit[0]}${fit[1]}"` : JSON.stringify(value)
}

const BYTES: [number, string][] = [
  [2 ** 30, 'GiB'],
  [2 ** 20, 'MiB'],
  [2 ** 10, 'KiB'],
]
const DURATIONS: [number, string][] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1000, 's'],
  [1, 'ms'],
]
