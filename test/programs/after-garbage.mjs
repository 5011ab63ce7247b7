// Opens a memory (argument: its home) after everything that nobody holds was collected, in a process that has loaded a
// lot before: newer Nodes keep the classes of an addon by themselves only where it is among the first to be loaded.
// Tells whether the addon is still held, and what the memory answers. Run with --expose-gc.
import { builtinModules, createRequire } from 'node:module'
import { setImmediate } from 'node:timers/promises'

const require = createRequire(import.meta.url)
for (const name of builtinModules) require(name)

const load = process.dlopen
const addons = new Map()
process.dlopen = (module, path, ...rest) => {
  load(module, path, ...rest)
  addons.set(path, new WeakRef(module.exports))
}
const { openMemory, storePaths } = await import('recollect')
// The addon is loaded with the first memory that is opened.
openMemory(storePaths(process.argv[2])).close()
await setImmediate()
globalThis.gc()
await setImmediate()

const [, addon] = [...addons].find(([path]) => path.includes('sqlite'))
const memory = openMemory(storePaths(process.argv[2]))
const count = memory.sessions.countAll()
memory.close()
console.log(JSON.stringify({ isHeld: addon.deref() !== undefined, count }))
