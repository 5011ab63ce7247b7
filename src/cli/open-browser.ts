// Opens a browser at the page. Every user of a machine can read the arguments of every program on it, so an address that
// holds a secret is never one: the browser is given a file that only its owner can read, and that sends it on.
import { spawn } from 'node:child_process'
import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ensureDirectory } from '../files/directory.ts'
import { tell } from './print.ts'

const OPENERS: Partial<Record<NodeJS.Platform, [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** The address is on stdout all the same: a machine without a browser is no error. */
export function openBrowser(address: string): void {
  const [command, ...args] = OPENERS[process.platform] ?? ['xdg-open']
  const child = spawn(command, [...args, address], { stdio: 'ignore', detached: true })
  child.on('error', () => tell('no browser could be opened: open the address above\n'))
  child.unref()
}

/** One file for each port: what a killed server left is written over by the next one there. */
const pathOf = (home: string, port: number): string => join(home, 'opening', `${port}.html`)

/** Writes the file that leads to the address, for its owner alone; returns where a browser finds it. */
export function writeOpening(home: string, port: number, url: string): string {
  const directory = join(home, 'opening')
  ensureDirectory(directory, 0o700, false)
  chmodSync(directory, 0o700)
  const path = pathOf(home, port)
  // Not written over: a file that was there would keep its mode.
  rmSync(path, { force: true })
  const page = `<!doctype html><meta charset="utf-8"><title>Recollect</title><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url=${url}"><p><a href="${url}">Open Recollect</a></p>\n`
  writeFileSync(path, page, { mode: 0o600, flag: 'wx' })
  return pathToFileURL(path).href
}

/** Once the address was opened, or can be no more. */
export const removeOpening = (home: string, port: number): void => rmSync(pathOf(home, port), { force: true })
