// Another machine, as `ssh` knows it, and where copies of its files lie: below `hosts/` in the memory's directory.
import { join, relative } from 'node:path'
import { RecollectError } from '../errors.ts'
import { shellQuoted } from '../files/shell.ts'

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

/** The machine that a copied file came from, as `ssh` takes it. */
export function addressOf(home: string, path: string): string | undefined {
  const [name = '..'] = relative(hostsDirectory(home), path).split('/')
  if (name === '..') return undefined
  const address = decodeURIComponent(name)
  return /:\d+$/.test(address) ? `ssh://${address}` : address
}

/**
 * A command there, as words here: a login shell has the PATH of the person there, and agents want a terminal. `sh` starts it,
 * since not every shell that a person may have there could say which one that is.
 */
export const commandThere = (address: string, command: string): [string, ...string[]] => [
  'ssh',
  '-t',
  address,
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's.
  `exec sh -c ${shellQuoted('exec "${SHELL:-sh}" -lc "$0"')} ${shellQuoted(command)}`,
]
