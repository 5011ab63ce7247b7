// Turns ids into paths that cannot leave their directory. Two layers: the name itself is checked, then what stands on
// disk is: below the base no component may be a symbolic link, whatever it points to.
import { fstatSync, lstatSync, realpathSync, type Stats } from 'node:fs'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { errnoOf, fromSystem, notAFile, RecollectError } from '../errors.ts'

const MAX_NAME_BYTES = 200
const WINDOWS_RESERVED = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])\s*([.:]|$)/i
// Controls, formatting characters (zero width, bidi) and unpaired surrogates: invisible or unprintable in a name.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u

function reasonAgainst(name: string): string | undefined {
  if (name === '') return 'is empty'
  if (name === '.' || name.includes('..')) return 'contains `..` or is `.`'
  if (name.includes('\0')) return 'contains a null byte'
  if (/[/\\]/.test(name)) return 'contains a path separator'
  if (INVISIBLE.test(name)) return 'contains an invisible character'
  if (/^\s|[\s.]$/.test(name)) return 'begins with white space or ends with white space or a dot'
  if (WINDOWS_RESERVED.test(name)) return 'is a reserved name on Windows'
  return undefined
}

// Letters that compatibility folding leaves alone, yet that people read as a separator or a dot.
const LOOK_ALIKE = /[\u2044\u2215\u2216\u29f5\u29f8\u29f9\u3002\u2571\u2572\u1735\u2cc6]/u

/** Returns `name` if it is safe as one path component on every system, else throws BAD_NAME. `what` names it in the message. */
export function safeName(name: string, what: string): string {
  const reason =
    typeof name !== 'string'
      ? 'is not a string'
      : (reasonAgainst(name) ??
        (Buffer.byteLength(name) > MAX_NAME_BYTES ? `is longer than ${MAX_NAME_BYTES} bytes` : undefined) ??
        (name !== name.normalize('NFC') ? 'is not in Unicode normal form C' : undefined) ??
        (reasonAgainst(name.normalize('NFKC')) || LOOK_ALIKE.test(name)
          ? 'contains a character that looks like a separator or a dot'
          : undefined))
  if (reason === undefined) return name
  throw new RecollectError('BAD_NAME', `${what} ${reason}`, {
    where: typeof name === 'string' ? JSON.stringify(name.slice(0, 80)) : what,
    hint: 'use letters, digits, dash and underscore',
  })
}

/** Resolves a path below `base` and refuses it if a component on disk is a symbolic link or lies outside. */
export function resolveInside(base: string, ...parts: string[]): string {
  const root = realBase(base)
  const full = resolve(root, ...parts)
  const inside = relative(root, full)
  if (inside === '' || inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)) {
    throw new RecollectError('UNSAFE_PATH', 'the path leaves its directory', {
      where: full,
      hint: `name something below ${root}`,
    })
  }
  checkNoLinks(root, full)
  return full
}

/** The base itself may be reached through links (a temp directory often is); it may also not exist yet. */
function realBase(base: string): string {
  const absolute = resolve(base)
  try {
    return realpathSync.native(absolute)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return absolute
    throw fromSystem(error, 'cannot resolve directory', absolute)
  }
}

/** Throws UNSAFE_PATH if anything between `root` (exclusive) and `full` (inclusive) is a symbolic link. */
export function checkNoLinks(root: string, full: string): void {
  let path = root
  for (const part of relative(root, full).split(sep)) {
    path = join(path, part)
    try {
      if (lstatSync(path).isSymbolicLink()) {
        throw new RecollectError('UNSAFE_PATH', 'a symbolic link stands in the path', {
          where: path,
          hint: 'links are not followed below the base directory: move the real directory here, or use it as the base',
        })
      }
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return
      throw fromSystem(error, 'cannot look at path', path)
    }
  }
}

/** Proves that a descriptor is the one regular file that stands at `path` now, under no other name. */
export function checkOpened(fd: number, path: string): Stats {
  const opened = fstatSync(fd)
  if (!opened.isFile()) throw notAFile(path)
  if (opened.nlink > 1) {
    throw new RecollectError('UNSAFE_PATH', 'the file has more than one name (hard link)', {
      where: path,
      hint: 'the other name may lie anywhere: put a copy in its place (cp, then mv)',
    })
  }
  const standing = lstatSync(path, { throwIfNoEntry: false })
  if (standing?.ino !== opened.ino || standing.dev !== opened.dev) {
    throw new RecollectError('REPLACED', 'the path changed while it was being opened', {
      where: path,
      hint: 'try again; if it happens again, look for a program that moves files or links here',
    })
  }
  return opened
}
