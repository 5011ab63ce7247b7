// Puts our hook handler into agents' settings, and takes it out again. First a plan, which can be shown; then the plan is
// carried out. What a kill leaves: the backup is written before the settings, and each is replaced as a whole.
import { lstatSync, readFileSync, realpathSync, rmdirSync, type Stats, unlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Environment } from '../adapters/adapter.ts'
import type { Integration } from '../adapters/integration.ts'
import { homeDirectory } from '../config.ts'
import { errnoOf, fromSystem, RecollectError } from '../errors.ts'
import { ensureDirectory } from '../files/directory.ts'
import { replaceFile } from '../files/replace.ts'
import { lasting, ownFile } from './program.ts'
import { findHandlers, HANDLER_NAME, type Handler, withHandler, withoutHandlers } from './settings.ts'

/** What is to become of one file. Undefined: no file. */
export interface HookPlan {
  integration: Integration
  /** As the agent names it, and the real file behind links. */
  file: string
  target: string
  before: string | undefined
  after: string | undefined
  /** The copy of what was there before the first install. */
  backup: string
  writesBackup: boolean
  removesBackup: boolean
}

/** Agents wait so many seconds at most; one of them complains of more at the end of a session. */
const TIMEOUT_S = 3

/** The handler to install: one text for every agent, because some read each other's settings and drop equal commands. */
export function makeHandler(env: Environment, path?: string): Handler {
  const script = path === undefined ? ownFile(HANDLER_NAME) : lasting(path)
  const home = homeDirectory(env)
  // A home that only this shell knows has to be said to the handler, which agents start with theirs.
  const isKnown = home === homeDirectory({ HOME: env['HOME'] })
  return {
    type: 'command',
    command: [process.execPath, script, ...(isKnown ? [] : [home])].map(quoted).join(' '),
    timeout: TIMEOUT_S,
  }
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

export function planInstall(integration: Integration, env: Environment, handler: Handler): HookPlan {
  const plan = lookAt(integration, env)
  const { before, file } = plan
  const { events } = integration.hooks
  const after = withHandler(before ?? '', events, handler, file)
  const isFresh = before === undefined || findHandlers(before, file).length === 0
  return { ...plan, after, writesBackup: isFresh && before !== undefined }
}

export function planUninstall(integration: Integration, env: Environment): HookPlan {
  const plan = lookAt(integration, env)
  const { before, file, backup } = plan
  if (before === undefined) return plan
  const ours = findHandlers(before, file)
  if (ours.length === 0) return plan
  const { events } = integration.hooks
  // As it was installed, perhaps from another directory than we run from.
  const handler = ours[0]?.value as Handler
  const isMade = (from: string): boolean => withHandler(from, events, handler, file) === before
  const saved = readText(backup)
  // Nothing else has changed since: give back the very bytes.
  if (saved !== undefined && isMade(saved)) return { ...plan, after: saved, removesBackup: true }
  if (isMade('')) return { ...plan, after: undefined }
  return { ...plan, after: withoutHandlers(before, file) }
}

/** Carries a plan out. Throws REPLACED, having changed nothing, when the file is no longer what the plan was made for. */
export function applyPlan(plan: HookPlan): void {
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
  if (plan.writesBackup && before !== undefined) replaceFile(backup, before, options)
  if (after === undefined) removeFile(target, plan)
  else replaceFile(target, after, options)
  if (plan.removesBackup) unlinkSync(backup)
}

/** A file of our own goes with its directory, if nothing else is there. */
function removeFile(target: string, { integration }: HookPlan): void {
  unlinkSync(target)
  if (integration.hooks.isShared) return
  try {
    rmdirSync(dirname(target))
  } catch {
    return
  }
}

function lookAt(integration: Integration, env: Environment): HookPlan {
  const file = integration.hooks.file(env)
  const target = realFile(file)
  const before = readText(target)
  const backup = `${target}.before-recollect`
  return {
    integration,
    file,
    target,
    before,
    after: before,
    backup,
    writesBackup: false,
    removesBackup: false,
  }
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
function readText(path: string): string | undefined {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return undefined
    throw fromSystem(error, 'cannot read the settings', path, 'read')
  }
  const text = bytes.toString('utf8')
  if (Buffer.from(text).equals(bytes)) return text
  throw new RecollectError('BAD_INPUT', 'the settings are not UTF-8', {
    where: path,
    hint: 'mend the file by hand; nothing was changed',
  })
}
