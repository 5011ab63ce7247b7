// Code that V8 compiled in an earlier run, kept in `code/` of our home: one file for each command, made again whenever it
// does not fit. Only a help: whatever is wrong with it, the program runs without. V8 checks its own version and flags, but
// neither the code nor more of the source than its length: so the source is kept as well and compared, the code is kept
// twice (to compare is quicker than any sum over it), the file is flushed before it gets its name, and it is believed only
// if it is ours and nobody else may write to it.
//
//   magic, length of the head, head (JSON), then for each script its source and twice its code, all on multiples of 8
import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { homeDirectory } from '../config.ts'

export interface Compiled {
  source: Buffer
  code: Buffer
}

export interface CodeCache {
  /** How many runs it was made from: a function that did not run is not in it. */
  runs: number
  scripts: Map<string, Compiled>
}

interface Head {
  node: string
  runs: number
  scripts: [name: string, sourceLength: number, codeLength: number][]
}

const MAGIC = 'RCLCODE2'
const NODE = `${process.version} ${process.arch}`
const roundUp = (length: number): number => (length + 7) & ~7

/** Undefined where Node was told to keep no compiled code, or where there is no home to keep it in: the command says so itself. */
export function codePath(env: NodeJS.ProcessEnv, command: string): string | undefined {
  if (env['NODE_DISABLE_COMPILE_CACHE']) return undefined
  try {
    return join(homeDirectory(env), 'code', command)
  } catch {
    return undefined
  }
}

export function readCode(path: string): CodeCache | undefined {
  try {
    const bytes = readTrusted(path)
    if (bytes === undefined || bytes.toString('latin1', 0, 8) !== MAGIC) return undefined
    const end = 12 + bytes.readUInt32LE(8)
    const head = JSON.parse(bytes.toString('utf8', 12, end)) as Head
    if (head.node !== NODE) return undefined
    let at = roundUp(end)
    const take = (length: number): Buffer => {
      const part = bytes.subarray(at, at + length)
      at += roundUp(length)
      return part
    }
    const scripts = new Map<string, Compiled>()
    for (const [name, sourceLength, codeLength] of head.scripts) {
      const [source, code, again] = [take(sourceLength), take(codeLength), take(codeLength)]
      if (!code.equals(again)) return undefined
      scripts.set(name, { source, code })
    }
    return at === bytes.length ? { runs: head.runs, scripts } : undefined
  } catch {
    return undefined
  }
}

function readTrusted(path: string): Buffer | undefined {
  const fd = openSync(path, 'r')
  try {
    const { uid, mode, size } = fstatSync(fd)
    if ((process.getuid && uid !== process.getuid()) || mode & 0o022) return undefined
    const bytes = Buffer.allocUnsafeSlow(size)
    return readSync(fd, bytes, 0, size, 0) === size ? bytes : undefined
  } finally {
    closeSync(fd)
  }
}

/** Only where we have a home already: a question makes none. */
export function keepCode(path: string, cache: CodeCache): void {
  const temporary = `${path}.${process.pid}`
  try {
    makeDirectory(dirname(path))
    try {
      // A kill before the new name leaves what was there; so does a full disk.
      writeFileSync(temporary, toBytes(cache), { mode: 0o600, flag: 'wx', flush: true })
      renameSync(temporary, path)
    } finally {
      rmSync(temporary, { force: true })
    }
  } catch {
    // The next run is slower, that is all.
  }
}

function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

function toBytes({ runs, scripts }: CodeCache): Buffer {
  const list = [...scripts]
  const head: Head = {
    node: NODE,
    runs,
    scripts: list.map(([name, { source, code }]) => [name, source.length, code.length]),
  }
  const words = Buffer.from(JSON.stringify(head))
  const start = Buffer.alloc(12)
  start.write(MAGIC)
  start.writeUInt32LE(words.length, 8)
  const padded = (part: Buffer): Buffer => Buffer.concat([part], roundUp(part.length))
  const parts = list.flatMap(([, { source, code }]) => [padded(source), padded(code), padded(code)])
  return Buffer.concat([padded(Buffer.concat([start, words])), ...parts])
}
