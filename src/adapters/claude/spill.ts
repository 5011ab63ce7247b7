// Tool outputs too large for the transcript lie beside it in `<session>/tool-results/`. Only such a file, below the
// same project, is ever opened: the path in the transcript is foreign text.
import { RecollectError } from '../../errors.ts'
import { resolveInside } from '../../files/paths.ts'
import { readBeginning } from '../../files/reading.ts'
import { isRecord, str } from '../kit/guards.ts'
import { contentText } from '../kit/text.ts'
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
    return spilledIn(resolveInside(projectDir, session, folder, name), name)
  } catch (error) {
    if (error instanceof RecollectError) return { name, missing: error.code }
    throw error
  }
}

function spilledIn(path: string, name: string): Spilled {
  const { bytes, size } = readBeginning(path, MAX_BYTES)
  if (bytes.length === size) return { name, text: bytes.toString('utf8') }
  // Cut between lines: half a secret would not be recognized as one.
  return { name, text: bytes.toString('utf8', 0, bytes.lastIndexOf(10) + 1), bytes: size }
}
