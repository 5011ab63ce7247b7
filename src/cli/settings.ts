// Settings as flags: a row of the table in config.ts becomes an option of a command, and its value goes back into Config,
// which checks it as it checks the file and the environment.
import { type Command, Option } from 'commander'
import { Config, SETTINGS } from '../config.ts'

type FlagRow = Extract<(typeof SETTINGS)[number], { flag: string }>
/** The settings that have a flag. */
export type FlagKey = FlagRow['key']

/** Adds the flags of these settings to a command. */
export function addSettings<C extends Command>(command: C, keys: readonly FlagKey[]): C {
  for (const key of keys) command.addOption(settingOption(key))
  return command
}

/** The settings in force, given the options of a command made with `addSettings`. */
export function configFrom(options: Record<string, unknown>, keys: readonly FlagKey[]): Config {
  const flags: Partial<Record<FlagKey, string>> = {}
  for (const key of keys) {
    const value = options[settingOption(key).attributeName()]
    if (typeof value === 'string') flags[key] = value
  }
  return new Config({ flags })
}

function settingOption(key: FlagKey): Option {
  const row = SETTINGS.find((one) => one.key === key) as FlagRow
  // Without commander's own default: it would hide the file and the environment.
  return new Option(row.flag, `${row.doc.replaceAll('`', '')} (setting ${key}, default ${row.default})`)
}
