// Loads the driver of SQLite. The package's own entry searches directories and parses its package.json to find the addon,
// which takes longer than many a query; the addon lies where the package puts it, and has all we use. Where it does not
// lie there, or does not load (another libc, built on the spot), the package looks for it.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type * as Driver from '@photostructure/sqlite'

const PACKAGE = '@photostructure/sqlite'

/** Like Node: in the `node_modules` of this directory or one above it. */
function addonPath(from: string): string | undefined {
  const name = join(`${process.platform}-${process.arch}`, '@photostructure+sqlite.glibc.node')
  for (let at = from; ; at = dirname(at)) {
    const path = join(at, 'node_modules', PACKAGE, 'prebuilds', name)
    if (existsSync(path)) return path
    if (at === dirname(at)) return undefined
  }
}

function load(): typeof Driver {
  const path = existsSync('/etc/alpine-release') ? undefined : addonPath(import.meta.dirname)
  if (path !== undefined)
    try {
      const addon = { exports: {} }
      process.dlopen(addon, path)
      return addon.exports as typeof Driver
    } catch {
      // Said better by the package, if it fails as well.
    }
  return process.getBuiltinModule('node:module').createRequire(import.meta.url)(PACKAGE) as typeof Driver
}

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
