// Another machine, as `ssh` knows it, and where copies of its files lie: below `hosts/` in the memory's directory.
import { join } from 'node:path'
import { RecollectError } from '../errors.ts'

export interface Destination {
  /** As it was typed, without `ssh:`: a host or an alias of ~/.ssh/config, with a user before it, or ssh's own `//user@host:port`. */
  address: string
  /** What the memory calls it. */
  key: string
}

/** Nothing that `ssh` could take for an option, and nothing that a path or a shell reads otherwise than as letters. */
const ADDRESS = /^(?:\/\/)?(?:\w[\w.+-]*@)?[A-Za-z0-9_[][\w.:%[\]-]*$/

export function destinationOf(typed: string): Destination {
  const address = typed.startsWith('ssh:') ? typed.slice('ssh:'.length) : ''
  if (ADDRESS.test(address) && address.length <= 255) return { address, key: `ssh:${address}` }
  throw new RecollectError('USAGE', `${JSON.stringify(typed)} names no machine`, {
    where: '--from',
    hint: 'ssh:host, ssh:user@host or ssh://user@host:port; everything else belongs into ~/.ssh/config',
  })
}

export const hostsDirectory = (home: string): string => join(home, 'hosts')

export const directoryOf = (home: string, { address }: Destination): string =>
  join(hostsDirectory(home), encodeURIComponent(address.replace(/^\/\//, '')))
