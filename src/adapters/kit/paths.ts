// Where agents keep things, and what a path says: light enough for a declaration.
import { homedir } from 'node:os'
import { join, sep } from 'node:path'
import type { Environment, Source } from '../adapter.ts'

/** The directory that a variable names, or one below the home directory. */
export const homeFolder = (env: Environment, variable: string | undefined, ...folders: string[]): string =>
  (variable && env[variable]) || join(env['HOME'] || homedir(), ...folders)

/** Below `$XDG_DATA_HOME`, or `~/.local/share`. */
export const dataFolder = (env: Environment, ...folders: string[]): string =>
  join(env['XDG_DATA_HOME'] || join(env['HOME'] || homedir(), '.local', 'share'), ...folders)

/** Below `$XDG_CONFIG_HOME`, or `~/.config`. */
export const configFolder = (env: Environment, ...folders: string[]): string =>
  join(env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config'), ...folders)

/** The last parts of a path, the file's name at the end; missing ones are empty. */
export function lastParts(path: string, count: number): string[] {
  const parts = path.split(sep).slice(-count)
  return [...Array<string>(count - parts.length).fill(''), ...parts]
}

/** Whether the folders stand in the path one after another, whatever lies around them. */
export const hasFolders = (path: string, ...folders: string[]): boolean =>
  `${sep}${path}`.includes(`${sep}${folders.join(sep)}${sep}`)

/** The source a database is: `claim` returns this. The log is a companion, because new rows stand there alone. */
export const databaseSource = (path: string): Source => ({
  path,
  companions: [`${path}-wal`],
  isShared: true,
  isDatabase: true,
})
