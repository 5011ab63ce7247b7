// `recollect record turns`: each line is a turn as the library takes it; fields it does not know are kept on disk.
import { TranscriptWriter } from '../../record/index.ts'
import { configFrom } from '../settings.ts'
import { flushOf, LOCKED_SETTINGS } from './options.ts'
import { pump } from './pump.ts'

export async function recordTurns(options: { base: string; agent: string; session: string }): Promise<void> {
  const { base, agent, session } = options
  const config = configFrom({ ...options }, LOCKED_SETTINGS)
  const writer = new TranscriptWriter(base, {
    flush: flushOf(config),
    lockTimeoutMs: config.get('record.lock_timeout'),
  })
  // Ids are refused before the first line is read: a wrong id makes every line wrong.
  writer.resolvePath(agent, session)
  const take = async (value: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const { offset, length } = await writer.appendAt(agent, session, value as never)
    return { turnId: value['turnId'], offset, length }
  }
  await pump({ take, finish: () => writer.close() }, config.get('record.max_line'))
}
