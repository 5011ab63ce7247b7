// Whether a session was gone on with by another process: a client that loads one writes an empty list of background
// tasks first (1.0.41), and numbers its events from the beginning again (headless). A fork is loaded once to be born.
import type { Item } from '../adapter.ts'
import { edgeItem } from '../kit/facts.ts'
import { list } from '../kit/guards.ts'
import type { Session } from './facts.ts'
import type { State } from './state.ts'
import type { Update } from './updates.ts'

/** At each update that stands alone, and at the first of each run of chunks. Told once, for the first time it happened. */
export function* noteResume(session: Session, state: State, update: Update): Generator<Item> {
  const { resume } = state
  if (update.inherited || resume.isTold) return
  const number = Number.parseInt(update.key, 10)
  const beginsAnew = resume.follows && number < resume.number
  const tasks = update.kind === 'background_tasks' ? list(update.body['tasks']).length : undefined
  const isLoaded = resume.hasTurn && tasks === 0 && !resume.hasTasks
  if (tasks) resume.hasTasks = true
  resume.follows = update.kind === 'turn_completed'
  if (resume.follows) resume.hasTurn = true
  if (!Number.isNaN(number)) resume.number = number
  if (!beginsAnew && !isLoaded) return
  resume.isTold = true
  yield edgeItem('resumed', session.id, null, update.ts, isLoaded ? 'loaded again' : 'numbered anew')
}
