// Agents that nobody here knows: modules that the settings name, each of which declares one as this program declares its
// own. They run with all of our rights, so nothing is loaded that was not named, and doctor shows what is.
import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AnyAdapter } from '../adapters/adapter.ts'
import { FLAVORS, flavorNamed } from '../adapters/flavors.ts'
import { ADAPTERS } from '../adapters/index.ts'
import type { Config } from '../config.ts'
import { RecollectError } from '../errors.ts'
import { crypto } from '../files/builtin.ts'
import { readLinked } from '../files/reading.ts'

export interface PluginFile {
  path: string
  sha256: string
}

export type Plugin = AnyAdapter & { plugin: PluginFile }

const MAX_BYTES = 4 << 20

/** All agents that a sweep asks: our own, then those of the settings. Throws BAD_CONFIG where one cannot be loaded. */
export async function adaptersOf(config: Config): Promise<readonly AnyAdapter[]> {
  const plugins: Plugin[] = []
  for (const path of config.get('sources.plugins')) {
    const plugin = await loadPlugin(pluginFile(path))
    if (plugins.some(({ flavor }) => flavor === plugin.flavor))
      throw badPlugin(path, `another plugin declares ${plugin.flavor} as well`)
    plugins.push(plugin)
  }
  return plugins.length === 0 ? ADAPTERS : [...ADAPTERS, ...plugins]
}

/** What is to be loaded, by its bytes. */
export function pluginFile(path: string): PluginFile {
  try {
    return { path, sha256: crypto().hash('sha256', readLinked(path, MAX_BYTES), 'hex') }
  } catch (cause) {
    throw badPlugin(path, 'the plugin cannot be read', cause)
  }
}

/** The agent of a plugin. In another thread its bytes have to be those that were looked at first. */
export async function loadPlugin(file: PluginFile): Promise<Plugin> {
  const { path, sha256 } = file
  if (pluginFile(path).sha256 !== sha256) throw badPlugin(path, 'the plugin was changed while it was loaded')
  let declared: unknown
  try {
    const module = (await silently(async () => await import(pathToFileURL(path).href))) as {
      default?: unknown
      agent?: unknown
    }
    const told = module.default ?? module.agent
    declared = typeof told === 'function' ? told(await import('../adapters/kit/index.ts')) : told
  } catch (cause) {
    throw badPlugin(path, 'the plugin cannot be loaded', cause)
  }
  const wrong = wrongWith(declared)
  if (wrong !== undefined) throw badPlugin(path, `the plugin does not declare an agent: ${wrong}`)
  return { ...(declared as AnyAdapter), plugin: file }
}

const FLAVOR = /^[a-z][a-z0-9-]{0,30}$/

function wrongWith(declared: unknown): string | undefined {
  if (typeof declared !== 'object' || declared === null) return 'its default export is no object'
  const { flavor, version, roots, claim, read, load } = declared as Record<string, unknown>
  if (typeof flavor !== 'string' || !FLAVOR.test(flavor)) return '`flavor` is no short name in small letters'
  if (FLAVORS.includes(flavorNamed(flavor))) return `\`${flavor}\` is the name of an agent that is known`
  if (!Number.isSafeInteger(version)) return '`version` is no whole number'
  const isFunction = (value: unknown): boolean => typeof value === 'function'
  if (!isFunction(roots) || !isFunction(claim)) return '`roots` and `claim` are no functions'
  return isFunction(read) || isFunction(load) ? undefined : 'neither `read` nor `load` is a function'
}

const badPlugin = (path: string, what: string, cause?: unknown): RecollectError =>
  new RecollectError('BAD_CONFIG', what, {
    where: isAbsolute(path) ? path : 'sources.plugins',
    hint: 'mend it, or take it out of sources.plugins; docs/adding-an-agent.md shows one that works',
    cause,
  })

/** From code that was kept, Node warns of how a module is imported: nobody who runs a command can do anything about that. */
function silently<T>(begin: () => T): T {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return begin()
  } finally {
    process.emitWarning = emitWarning
  }
}
