// Tool outputs too large for the transcript lie beside it in `<session>/tool-results/`. Only such a file, below the
// same project, is ever opened: the path in the transcript is foreign text.
import { closeSync, fstatSync, readSync } from 'node:fs'
import { RecollectError } from '../../errors.ts'
import { openForReading } from '../../files/jsonl.ts'
import { resolveInside } from '../../files/paths.ts'
import { isRecord, str } from '../guards.ts'
import { contentText } from '../text.ts'
import { isUuid } from './paths.ts'

const MAX_BYTES = 8 << 20

export interface Spilled {
  name: string
  text?: string
  /** Size of the file, when only its beginning is in `text`. */
  bytes?: number
  /** Why there is no text. */
  missing?: string
}

/** The path a result names, or undefined. */
export function spilledPath(content: unknown, outcome: unknown): string | undefined {
  const named = isRecord(outcome) ? str(outcome['persistedOutputPath']) : undefined
  if (named) return named
  const said = contentText(content) ?? ''
  if (said.startsWith('<persisted-output>')) return /saved to: (.+)/.exec(said)?.[1]
  return OF_MCP.exec(said)?.[1]
}

/** How it is said of the tools of MCP servers. */
const OF_MCP =
  /^Error: result \([^)\n]*\) exceeds maximum allowed tokens\. Output has been saved to (.+?)\.?$/m

export function readSpilled(projectDir: string, path: string | undefined): Spilled | undefined {
  if (path === undefined) return undefined
  // A fork's copy names the directory of the session it came from, so that is where it is looked for.
  const [session = '', folder = '', name = ''] = path.trim().split(/[\\/]/).slice(-3)
  if (folder !== 'tool-results' || !isUuid(session)) return { name, missing: 'not in tool-results' }
  try {
    return readBeginning(resolveInside(projectDir, session, folder, name), name)
  } catch (error) {
    if (error instanceof RecollectError) return { name, missing: error.code }
    throw error
  }
}

function readBeginning(path: string, name: string): Spilled {
  const fd = openForReading(path)
  try {
    const { size } = fstatSync(fd)
    const buffer = Buffer.alloc(Math.min(size, MAX_BYTES))
    let filled = 0
    while (filled < buffer.length) {
      const count = readSync(fd, buffer, filled, buffer.length - filled, filled)
      if (count === 0) break
      filled += count
    }
    if (filled === size) return { name, text: buffer.toString('utf8', 0, filled) }
    // Cut between lines: half a secret would not be recognized as one.
    const end = buffer.lastIndexOf(10, filled - 1)
    return { name, text: buffer.toString('utf8', 0, end + 1), bytes: size }
  } finally {
    closeSync(fd)
  }
}
