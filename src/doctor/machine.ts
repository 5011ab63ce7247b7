// The machine: Node, permissions, room on the disk.
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { formatBytes } from '../figures.ts'
import { type Finding, finding } from './finding.ts'

const LEAST_NODE = [20, 19] as const
/** The end of support of each major version, as far as it is fixed. */
const SUPPORTED_UNTIL: Record<number, string> = { 20: '2026-04-30', 22: '2027-04-30', 24: '2028-04-30' }
const LITTLE_BYTES = 1e9
const TOO_LITTLE_BYTES = 100e6

export function checkNode(version: string, path: string, now: number): Finding {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  const text = `${path} ${version.replace(/^v/, '')}`
  if (major < LEAST_NODE[0] || (major === LEAST_NODE[0] && minor < LEAST_NODE[1]))
    return finding('node.version', 'error', `${text} is too old`, {
      fix: `install Node ${LEAST_NODE.join('.')} or later`,
    })
  const until = SUPPORTED_UNTIL[major]
  if (until !== undefined && Date.parse(until) < now)
    return finding('node.version', 'warning', `${text}; Node ${major} is out of support since ${until}`, {
      fix: 'install a Node that is supported, then recollect hooks install and recollect mcp install',
    })
  return finding('node.version', 'ok', text)
}

export function checkAccess(home: string): Finding {
  if (!existsSync(home)) return finding('home.access', 'info', `${home} will be made by the first sweep`)
  try {
    accessSync(home, constants.W_OK)
  } catch {
    return finding('home.access', 'error', `${home} cannot be written`, {
      fix: `chown -R "$(id -un)" '${home}'`,
    })
  }
  if (process.platform !== 'win32' && (statSync(home).mode & 0o077) !== 0)
    return finding('home.access', 'warning', `others may look into ${home}`, { fix: `chmod 700 '${home}'` })
  return finding('home.access', 'ok', `${home} is ours alone`)
}

export function checkSpace(home: string): Finding {
  let directory = home
  while (!existsSync(directory)) directory = dirname(directory)
  const { bavail, bsize } = statfsSync(directory)
  const free = bavail * bsize
  const text = `${formatBytes(free)} free below ${directory}`
  if (free < TOO_LITTLE_BYTES)
    return finding('disk.space', 'error', text, {
      fix: 'free some space; recollect evict gives back what it may',
    })
  if (free < LITTLE_BYTES) return finding('disk.space', 'warning', text, { fix: 'recollect evict --dry-run' })
  return finding('disk.space', 'ok', text)
}
