// Lines of a stream as JSON objects, each with its number; a line that is none comes as an error instead.
import { isUtf8 } from 'node:buffer'
import { RecollectError } from '../errors.ts'

export type InputLine =
  | { line: number; value: Record<string, unknown> }
  | { line: number; error: RecollectError }

/** Blank lines are skipped but counted. Memory is bounded by the longest line allowed. */
export async function* inputLines(
  stream: AsyncIterable<Buffer>,
  maxLineBytes: number,
): AsyncGenerator<InputLine> {
  let held: Buffer[] = []
  let heldBytes = 0
  let line = 0
  const take = (last: Buffer): InputLine | undefined => {
    const length = heldBytes + last.length
    const bytes = length > maxLineBytes ? undefined : heldBytes === 0 ? last : Buffer.concat([...held, last])
    held = []
    heldBytes = 0
    line++
    return bytes
      ? parse(line === 1 ? withoutMark(bytes) : bytes, line)
      : { line, error: refuse(line, `longer than ${maxLineBytes} bytes`) }
  }
  for await (const chunk of stream) {
    let start = 0
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, start)) {
      const input = take(chunk.subarray(start, at))
      start = at + 1
      if (input) yield input
    }
    if (start < chunk.length) {
      heldBytes += chunk.length - start
      if (heldBytes <= maxLineBytes) held.push(chunk.subarray(start))
      else held = []
    }
  }
  if (heldBytes > 0) {
    const input = take(Buffer.alloc(0))
    if (input) yield input
  }
}

/** Some shells put a byte order mark before whatever they pipe. */
const withoutMark = (bytes: Buffer): Buffer =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes

function parse(bytes: Buffer, line: number): InputLine | undefined {
  // Decoding would put U+FFFD in place of what it cannot read, and record a text nobody wrote.
  if (!isUtf8(bytes)) return { line, error: refuse(line, 'not UTF-8') }
  const text = bytes.toString('utf8')
  if (text.trim() === '') return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return { line, value: value as Record<string, unknown> }
    }
    return { line, error: refuse(line, 'not a JSON object') }
  } catch (cause) {
    return { line, error: refuse(line, 'not JSON', cause) }
  }
}

function refuse(line: number, reason: string, cause?: unknown): RecollectError {
  return new RecollectError('BAD_INPUT', `the input line is ${reason}`, {
    where: `line ${line} of the input`,
    hint: 'one JSON object per line; nothing was written for this line',
    ...(cause === undefined ? {} : { cause }),
  })
}
