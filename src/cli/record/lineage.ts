// `recollect record lineage`: the births and deaths of a bot's sessions, one call of SessionHistory per line.
import * as z from 'zod'
import { SessionHistory, type WrittenSessionEvent } from '../../record/index.ts'
import { configFrom } from '../settings.ts'
import { checkLine } from './line.ts'
import { flushOf, LOCKED_SETTINGS } from './options.ts'
import { pump } from './pump.ts'

const session_id = z.string()
// Absent: the current main session. Null: none.
const parent_session_id = z.string().nullable().optional()

const Line = z.discriminatedUnion('op', [
  z.strictObject({ op: z.literal('save'), session_id }),
  z.strictObject({ op: z.literal('swap'), session_id }),
  z.strictObject({ op: z.literal('clear') }),
  z.strictObject({ op: z.literal('interactive_fork'), session_id, parent_session_id }),
  z.strictObject({ op: z.literal('bg_fork'), session_id, parent_session_id }),
])

export async function recordLineage(options: {
  dir: string
  currentFile?: string
  historyFile?: string
  git?: boolean
}): Promise<void> {
  const { currentFile, historyFile } = options
  const config = configFrom({ ...options }, LOCKED_SETTINGS)
  const history = new SessionHistory(options.dir, {
    flush: flushOf(config),
    lockTimeoutMs: config.get('record.lock_timeout'),
    git: options.git ?? false,
    ...(currentFile === undefined ? {} : { currentFile }),
    ...(historyFile === undefined ? {} : { historyFile }),
  })
  const take = async (value: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const line = checkLine(Line, value, 'docs/formats/lineage.md')
    return { event: null, ...(await apply(history, line)) }
  }
  await pump({ take, finish: () => history.idle() }, config.get('record.max_line'))
}

function apply(
  history: SessionHistory,
  line: z.infer<typeof Line>,
): Promise<WrittenSessionEvent | undefined> {
  switch (line.op) {
    case 'save':
      return history.saveSessionId(line.session_id)
    case 'swap':
      return history.swap(line.session_id)
    case 'clear':
      return history.clear()
    case 'interactive_fork':
      return history.interactiveFork(line.session_id, line.parent_session_id)
    case 'bg_fork':
      return history.backgroundFork(line.session_id, line.parent_session_id)
  }
}
