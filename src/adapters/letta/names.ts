// Names of folders and files are ids in letters that a file system bears.
import { join } from 'node:path'

/** `default:<agent>` or `conversation:<id>`. */
export const nameIn = (folder: string): string =>
  Buffer.from(folder, 'base64url')
    .toString('utf8')
    .replace(/[^\w.:-]/g, '')

/** The agent whose own conversation it is. */
export const ownerIn = (folder: string): string | undefined => /^default:(.+)$/.exec(nameIn(folder))?.[1]

export const ownerFile = (folder: string, owner: string): string =>
  join(folder, '..', '..', 'agents', `${Buffer.from(owner).toString('base64url')}.json`)
