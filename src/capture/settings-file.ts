// An agent's settings file as a whole: found behind links, read, and replaced by a plan that can be shown first. What a kill
// leaves: the backup is written before the settings, and each is replaced as a whole.
import { lstatSync, realpathSync, type Stats, unlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { errnoOf, fromSystem, RecollectError } from '../errors.ts'
import { ensureDirectory } from '../files/directory.ts'
import { MAX_SETTINGS_BYTES, readLinked } from '../files/reading.ts'
import { replaceFile } from '../files/replace.ts'

/** What is to become of one file. Undefined: no file. */
export interface SettingsPlan {
  /** As the agent names it, and the real file behind links. */
  file: string
  target: string
  before: string | undefined
  after: string | undefined
  /** The copy of what was there before the first change; empty where there was no file. */
  backup: string
  writesBackup: boolean
  removesBackup: boolean
}

/** A plan that changes nothing yet. */
export function lookAtFile(file: string, backupSuffix: string): SettingsPlan {
  const target = realFile(file)
  const before = readText(target)
  const backup = `${target}${backupSuffix}`
  return { file, target, before, after: before, backup, writesBackup: false, removesBackup: false }
}

/** Carries a plan out. Throws REPLACED, having changed nothing, when the file is no longer what the plan was made for. */
export function applySettings(plan: SettingsPlan): void {
  const { target, before, after, backup } = plan
  if (before === after) return
  if (readText(target) !== before)
    throw new RecollectError('REPLACED', 'the settings changed meanwhile; nothing was written', {
      where: target,
      hint: 'try again',
    })
  ensureDirectory(dirname(target), 0o700, false)
  const mode = lstatSync(target, { throwIfNoEntry: false })?.mode
  const options = { mode: mode === undefined ? 0o600 : mode & 0o777, exactMode: true }
  if (plan.writesBackup) replaceFile(backup, before ?? '', options)
  if (after === undefined) unlinkSync(target)
  else replaceFile(target, after, options)
  if (plan.removesBackup) unlinkSync(backup)
}

/** Settings are often links into a directory of dot files: the link stays, and what it leads to is edited. */
function realFile(file: string): string {
  let stats: Stats
  try {
    const real = realpathSync.native(file)
    stats = lstatSync(real)
    if (stats.isFile() && stats.nlink === 1) return real
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw fromSystem(error, 'cannot look at the settings', file, 'read')
    if (!lstatSync(file, { throwIfNoEntry: false })) return file
    throw new RecollectError('UNSAFE_PATH', 'the settings are a link that leads nowhere', {
      where: file,
      cause: error,
      hint: 'create the file it points to, or remove the link',
    })
  }
  throw new RecollectError(
    stats.isFile() ? 'UNSAFE_PATH' : 'NOT_A_FILE',
    stats.isFile()
      ? 'the settings have a second name (hard link), which replacing would cut off'
      : 'not a regular file',
    { where: file, hint: 'put a plain file, or a symbolic link to one, there' },
  )
}

/** Undefined where there is no file; refuses what is no text. */
export function readText(path: string): string | undefined {
  let bytes: Buffer
  try {
    bytes = readLinked(path, MAX_SETTINGS_BYTES)
  } catch (error) {
    const { code, cause } = error as RecollectError
    if (code === 'NOT_FOUND' || errnoOf(cause) === 'ENOTDIR') return undefined
    throw fromSystem(error, 'cannot read the settings', path, 'read')
  }
  const text = bytes.toString('utf8')
  if (Buffer.from(text).equals(bytes)) return text
  throw new RecollectError('BAD_INPUT', 'the settings are not UTF-8', {
    where: path,
    hint: 'fix the file by hand; nothing was changed',
  })
}
