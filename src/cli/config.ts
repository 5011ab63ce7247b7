// `recollect config`: the settings in force.
import { Config, configDocs, SETTINGS } from '../config.ts'

export function showConfig(options: { json?: boolean; docs?: boolean }): void {
  if (options.docs) {
    process.stdout.write(configDocs())
    return
  }
  const config = new Config()
  const rows = SETTINGS.map(({ key }) => ({ key, value: config.get(key), origin: config.origin(key) }))
  if (options.json) {
    process.stdout.write(
      `${JSON.stringify({ home: config.home, file: config.file, settings: rows }, null, 2)}\n`,
    )
    return
  }
  process.stdout.write(`home  ${config.home}\nfile  ${config.file}\n\n`)
  const width = Math.max(...rows.map((row) => row.key.length))
  for (const row of rows) {
    process.stdout.write(`${row.key.padEnd(width)}  ${JSON.stringify(row.value)}  (${row.origin})\n`)
  }
}
