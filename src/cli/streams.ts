// The two streams a command writes to. Node's objects for them load sockets and streams, which takes as long as a query:
// where the kernel says that it is a file or a pipe, the bytes are written at once, and the objects are never made.
import { fstatSync, statSync, writeSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { errnoOf, fromSystem } from '../errors.ts'
import { onScreen } from './screen.ts'

type Descriptor = 1 | 2

const isTerminal = new Map<Descriptor, boolean>()
const streams = new Map<Descriptor, NodeJS.WriteStream>()

const nodeStream = (fd: Descriptor): NodeJS.WriteStream => (fd === 1 ? process.stdout : process.stderr)

/** Only a device can be one; the one that throws everything away is known without asking further. */
function looksLikeTerminal(fd: Descriptor): boolean {
  const stats = fstatSync(fd)
  if (!stats.isCharacterDevice()) return false
  return (
    stats.rdev !== statSync('/dev/null', { throwIfNoEntry: false })?.rdev && nodeStream(fd).isTTY === true
  )
}

/** Node's own stream; from then on all output takes this way, so that it stays in order. */
export function streamOf(fd: Descriptor): NodeJS.WriteStream {
  const known = streams.get(fd)
  if (known) return known
  const stream = nodeStream(fd)
  stream.on('error', (error) => failed(fd, error))
  streams.set(fd, stream)
  return stream
}

/** The stream, if it leads to a terminal. */
export function terminal(fd: Descriptor): NodeJS.WriteStream | undefined {
  const is = isTerminal.get(fd) ?? looksLikeTerminal(fd)
  isTerminal.set(fd, is)
  return is ? streamOf(fd) : undefined
}

let diverted: Writable | undefined

/** What goes to stdout goes there instead, until it is told otherwise: a pager. The terminal's width and colours still count. */
export function divert(stream: Writable | undefined): void {
  diverted = stream
}

/** Writes all of a text; all output of commands takes this way. */
export function put(fd: Descriptor, text: string): void {
  if (fd === 1 && diverted) {
    diverted.write(onScreen(text))
    return
  }
  const screen = terminal(fd)
  const stream = screen ?? streams.get(fd)
  if (stream) {
    stream.write(screen ? onScreen(text) : text)
    return
  }
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; )
    try {
      at += writeSync(fd, bytes, at)
    } catch (error) {
      // A pipe that another program made non-blocking is full: Node knows how to wait for it.
      if (errnoOf(error) === 'EAGAIN') streamOf(fd).write(bytes.subarray(at))
      else failed(fd, error)
      return
    }
}

/** A line on the terminal, drawn over the one before it. */
export const draw = (text: string): void => void terminal(2)?.write(`\r\x1b[K${onScreen(text)}`)

/** `recollect … | head` closes our output early: that is success. Of a warning that nobody reads nothing is to be done. */
function failed(fd: Descriptor, error: unknown): void {
  if (errnoOf(error) !== 'EPIPE')
    throw fromSystem(error, 'cannot write the output', fd === 1 ? 'stdout' : 'stderr')
  if (fd === 1) process.exit(process.exitCode ?? 0)
}

/** Waits until what was written has left, so that a long answer needs no memory for all of itself. */
export async function drained(): Promise<void> {
  const stream = diverted ?? streams.get(1)
  if (stream?.writableNeedDrain && !stream.destroyed)
    await new Promise<void>((resolve) => {
      stream.once('drain', resolve)
      stream.once('close', resolve)
    })
}
