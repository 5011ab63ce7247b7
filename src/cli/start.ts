#!/usr/bin/env node
// The program's file. Runs main.cjs, which lies beside it; for commands that answer at once with code compiled in an
// earlier run, since compiling takes as long as the answer.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { constants, Script } from 'node:vm'
import { type Compiled, codePath, keepCode, readCode } from './code-cache.ts'

/** Node's own, as this file is CommonJS when it runs. */
declare const require: (name: string) => unknown
declare const __dirname: string

const QUICK = [
  'answer-hook',
  'complete',
  'digest',
  'env',
  'lineage',
  'patterns',
  'retro',
  'search',
  'sessions',
  'show',
  'status',
  'statusline',
  'sweep',
  'usage',
]
/** What the first run did not need, one of the next ones may. */
const ENOUGH_RUNS = 3

const MAIN = 'main.cjs'

/** As Node wraps a module: the lines keep their numbers. */
const BEFORE = '(function (exports, require, module, __filename, __dirname) { '
const AFTER = '\n})'

const command = process.argv[2] ?? 'status'
const path = QUICK.includes(command) ? codePath(process.env, command) : undefined
if (path === undefined) require(join(__dirname, MAIN))
else runKept(path)

function runKept(path: string): void {
  const kept = readCode(path)
  const compiled = new Map<string, { source: Buffer; script: Script }>()
  const modules = new Map<string, { exports: unknown }>()
  let isSame = true
  const flags = command === 'sweep' ? flagsNow() : undefined

  function load(name: string): unknown {
    const known = modules.get(name)
    if (known) return known.exports
    const module = { exports: {} }
    modules.set(name, module)
    const filename = join(__dirname, name)
    const source = readSource(filename)
    const before = kept?.scripts.get(name)
    const cachedData = before?.source.equals(source) ? before.code : undefined
    // Plugins are modules, and kept code cannot import any.
    const isImporting = source.includes('await import(')
    const script = new Script(source.toString(), {
      filename,
      ...(isImporting ? { importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER } : {}),
      ...(cachedData ? { cachedData } : {}),
    })
    if (before && (!cachedData || script.cachedDataRejected)) isSame = false
    if (!isImporting) compiled.set(name, { source, script })
    const inner = (wanted: string): unknown =>
      wanted.startsWith('./') ? load(wanted.slice(2)) : require(wanted)
    script.runInThisContext()(module.exports, inner, module, filename, __dirname)
    return module.exports
  }

  process.on('exit', (code) => {
    const isWhole = kept && [...compiled.keys()].every((name) => kept.scripts.has(name))
    if (code !== 0 || (isWhole && isSame && kept.runs >= ENOUGH_RUNS)) return
    // A long sweep sets some, and V8 refuses code that was compiled with others than it has.
    if (flags !== undefined && flags !== flagsNow()) return
    // Another run may have needed other parts; what does not fit is of another version.
    const scripts = new Map<string, Compiled>(isSame ? kept?.scripts : [])
    for (const [name, { source, script }] of compiled)
      scripts.set(name, { source, code: script.createCachedData() })
    keepCode(path, { runs: isSame ? (kept?.runs ?? 0) + 1 : 1, scripts })
  })
  load(MAIN)
}

/** Stands for V8's version and all of its flags. */
function flagsNow(): number {
  return process.getBuiltinModule('node:v8').cachedDataVersionTag()
}

function readSource(filename: string): Buffer {
  const fd = openSync(filename, 'r')
  try {
    const { size } = fstatSync(fd)
    const bytes = Buffer.allocUnsafeSlow(BEFORE.length + size + AFTER.length)
    bytes.write(BEFORE)
    bytes.write(AFTER, BEFORE.length + readSync(fd, bytes, BEFORE.length, size, 0))
    return bytes
  } finally {
    closeSync(fd)
  }
}
