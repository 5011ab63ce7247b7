// Loads a native addon that npm installed beside us. The packages' own entries search directories and parse package.json
// files to find it, which takes longer than many a command; it lies where the package puts it.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Like Node: in the `node_modules` of this directory or one above it. */
function pathOf(packageName: string, name: string): string | undefined {
  for (let at = import.meta.dirname; ; at = dirname(at)) {
    const path = join(
      at,
      'node_modules',
      packageName,
      'prebuilds',
      `${process.platform}-${process.arch}`,
      name,
    )
    if (existsSync(path)) return path
    if (at === dirname(at)) return undefined
  }
}

/** Where it does not lie there, or does not load (another libc, built on the spot), the package itself looks for it, and says what is wrong. */
export function loadAddon<T>(packageName: string, name: string): T | undefined {
  const path = existsSync('/etc/alpine-release') ? undefined : pathOf(packageName, name)
  if (path === undefined) return undefined
  try {
    const addon = { exports: {} }
    process.dlopen(addon, path)
    return addon.exports as T
  } catch {
    return undefined
  }
}

export const requirePackage = (packageName: string): unknown =>
  process.getBuiltinModule('node:module').createRequire(import.meta.url)(packageName)
