// Loads the driver of SQLite: its addon has all that we use.
import type * as Driver from '@photostructure/sqlite'
import { loadAddon, requirePackage } from '../files/addon.ts'

const PACKAGE = '@photostructure/sqlite'

const load = (): typeof Driver =>
  loadAddon<typeof Driver>(PACKAGE, '@photostructure+sqlite.glibc.node') ??
  (requirePackage(PACKAGE) as typeof Driver)

/**
 * Held whole: the addon refers to its other classes weakly, and where nobody else holds them the garbage collector takes
 * them (seen on Node 24: every `prepare` then fails with "Invalid argument").
 */
let driver: typeof Driver | undefined

export type Database = InstanceType<typeof Driver.DatabaseSync>

export function connect(...options: ConstructorParameters<typeof Driver.DatabaseSync>): Database {
  driver ??= load()
  return new driver.DatabaseSync(...options)
}
