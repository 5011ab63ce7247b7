// The settings that the record commands take as flags.
import type { Config } from '../../config.ts'
import type { Flush } from '../../record/index.ts'
import type { FlagKey } from '../settings.ts'

/** Of every format. */
export const SETTINGS_OF_ALL = ['record.flush', 'record.max_line'] as const satisfies readonly FlagKey[]

/** Of formats that several processes may write at once. The writer of a run holds its lock for life: no one waits. */
export const LOCKED_SETTINGS = [
  ...SETTINGS_OF_ALL,
  'record.lock_timeout',
] as const satisfies readonly FlagKey[]

/** The table has checked that it is one of the choices. */
export function flushOf(config: Config): Flush {
  return config.get('record.flush') as Flush
}
