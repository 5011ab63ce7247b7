// `recollect resume`: goes on with a session where its agent keeps it, by the agent's own command.
import { agentTitle } from '../adapters/index.ts'
import { resumeCommand } from '../adapters/resume.ts'
import { Config } from '../config.ts'
import { RecollectError } from '../errors.ts'
import { repositoryRoot } from '../files/checkout.ts'
import type { Session } from '../model.ts'
import { resolveSession } from '../query/ids.ts'
import { getSession, listSessions } from '../query/sessions.ts'
import type { Reader } from '../store/reader/index.ts'
import { print, printJson, tell } from './print.ts'
import { commandLine, startAgent, whereItIs } from './start-agent.ts'
import { oneLine } from './text.ts'
import { withMemory } from './with-memory.ts'

export async function resumeSession(
  typed: string | undefined,
  options: { print?: boolean; json?: boolean },
): Promise<void> {
  if (typed === undefined && !options.print && !options.json) {
    const { canPick, pickSession } = await import('./pick.ts')
    if (canPick()) return void (await pickSession())
  }
  const session = await withMemory((handle) =>
    typed === undefined ? lastHere(handle) : (getSession(handle, resolveSession(handle, typed)) as Session),
  )
  const { session: there, argv } = whereItIs(session, argvOf(session), new Config().home)
  const command = commandLine(there, argv)
  if (options.json) return printJson({ session_uid: session.session_uid, cwd: there.cwd, argv, command })
  if (options.print) return print(command)
  tell(`${oneLine(session.title ?? session.session_uid)}\n$ ${oneLine(command)}\n`)
  await startAgent(there, argv)
}

function argvOf(session: Session): readonly [string, ...string[]] {
  const { flavor, native_session_id: id, session_uid: where } = session
  const command = resumeCommand(flavor, id)
  const title = agentTitle(flavor)
  const handOff = `recollect handoff ${id} tells another agent how to go on`
  if (command === undefined)
    throw new RecollectError('BAD_INPUT', `${title} has no command that takes this session up again`, {
      where,
      hint: handOff,
    })
  if (session.is_sole_copy)
    throw new RecollectError(
      'BAD_INPUT',
      `${title} has deleted its file: it does not know this session any more`,
      {
        where,
        hint: handOff,
      },
    )
  return command.split(' ') as [string, ...string[]]
}

/** So far back it is looked for. */
const LATEST = 500

/** Of sub-agents none: they cannot be talked to. Working trees of one repository are one place. */
function lastHere(handle: Reader): Session {
  const cwd = process.cwd()
  const here = repositoryRoot(cwd) ?? cwd
  const isHere = ({ cwd: at }: Session): boolean =>
    at !== null && (at === here || repositoryRoot(at) === here)
  const session = listSessions(handle, { limit: LATEST }).find((one) => canResume(one) && isHere(one))
  if (session) return session
  throw new RecollectError('NOT_FOUND', 'no session of this repository can be taken up again', {
    where: cwd,
    hint: 'recollect sessions lists all of them; recollect resume ID takes one up',
  })
}

const canResume = ({ flavor, native_session_id: id, is_sole_copy }: Session): boolean =>
  !is_sole_copy && resumeCommand(flavor, id) !== undefined
