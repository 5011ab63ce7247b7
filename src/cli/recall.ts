// `recollect recall`: what past sessions know of an error or a task, to be handed to an agent.
import { RECALL_BYTES, recall } from '../digest/recall.ts'
import { RecollectError } from '../errors.ts'
import { resolveSession } from '../query/ids.ts'
import { EXIT } from './exit.ts'
import { print, printJson } from './print.ts'
import { harmless } from './text.ts'
import { parseCount, parseName } from './values.ts'
import { withMemory } from './with-memory.ts'

export interface RecallCommand {
  bytes?: string
  excludeSession?: string
  json?: boolean
}

const [FEWEST, MOST] = [200, 16_000]

export async function runRecall(words: readonly string[], options: RecallCommand): Promise<void> {
  const asked = parseName(words.join(' '), 'text')
  const bytes = options.bytes === undefined ? RECALL_BYTES : parseCount(options.bytes, '--bytes')
  if (bytes < FEWEST || bytes > MOST)
    throw new RecollectError('USAGE', `${bytes} bytes hold too little, or too much`, {
      where: '--bytes',
      hint: `from ${FEWEST} to ${MOST}`,
    })
  const found = await withMemory(async (handle) => {
    const own = options.excludeSession
    const notShown = new Set(
      own === undefined ? [] : [resolveSession(handle, parseName(own, '--exclude-session'))],
    )
    return await recall(handle, asked, { bytes, notShown })
  })
  if (options.json) printJson({ asked, ...found })
  else if (found.text !== '') print(harmless(found.text))
  // Silent where nothing fits: whoever pipes it on hands nothing on.
  if (found.kind === null) process.exitCode = EXIT.failed
}
