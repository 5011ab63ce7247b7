// Long answers through the program a person reads long texts with: `$RECOLLECT_PAGER`, else `$PAGER`; on a terminal only.
import { terminal } from './streams.ts'

const command = (): string => (process.env['RECOLLECT_PAGER'] ?? process.env['PAGER'] ?? '').trim()

/** Does the work with its output in the pager, where there is one, and waits until that is left. */
export async function paged(work: () => void | Promise<void>): Promise<void> {
  const pager = command()
  if (pager === '' || pager === 'cat' || terminal(1) === undefined) await work()
  else await (await import('./run-pager.ts')).runPager(pager, work)
}
