// `recollect handoff`: the briefing of a session, printed, or given to the agent that goes on with it.
import { join } from 'node:path'
import type { Agent } from '../adapters/agent.ts'
import { flavorNamed } from '../adapters/flavors.ts'
import { ADAPTERS, agentTitle } from '../adapters/index.ts'
import { Config } from '../config.ts'
import { handoffMark } from '../digest/briefing.ts'
import { briefingOf } from '../digest/handoff.ts'
import { RecollectError } from '../errors.ts'
import { ensureDirectory } from '../files/directory.ts'
import { replaceFile } from '../files/replace.ts'
import type { Session } from '../model.ts'
import { resolveSession } from '../query/ids.ts'
import { getSession } from '../query/sessions.ts'
import { copy } from './clipboard.ts'
import { formatBytes } from './format.ts'
import { print, printJson, tell } from './print.ts'
import { commandLine, startAgent } from './start-agent.ts'
import { terminal } from './streams.ts'
import { harmless, oneLine } from './text.ts'
import { parseChoice } from './values.ts'
import { withMemory } from './with-memory.ts'

export interface HandoffCommand {
  to?: string
  exec?: boolean
  copy?: boolean
  json?: boolean
}

export async function handOff(typed: string, options: HandoffCommand): Promise<void> {
  const agent = options.to === undefined ? undefined : agentNamed(options.to)
  if (options.copy && terminal(1) === undefined)
    throw new RecollectError('USAGE', '--copy needs a terminal, whose clipboard it fills', {
      where: '--copy',
      hint: 'leave it out: the briefing is printed',
    })
  const start = options.exec ? starterOf(agent) : undefined
  const { session, text } = await withMemory((handle) => {
    const uid = resolveSession(handle, typed)
    const session = getSession(handle, uid) as Session
    return { session, text: briefingOf(handle, uid, agentTitle(session.flavor)) }
  })
  if (options.json)
    return printJson({ session_uid: session.session_uid, to: agent?.flavor ?? null, briefing: text })
  if (options.copy) {
    copy(text)
    return tell(`copied: the briefing, ${formatBytes(Buffer.byteLength(text))}\n`)
  }
  if (!start) return print(harmless(text).trimEnd())
  const path = keepBriefing(session, text)
  // By a file: every user of a machine can read the arguments of every program on it.
  const argv = start(
    `${handoffMark(session.session_uid)} Read ${path}: it is a briefing of the work so far. Go on from there.`,
  )
  tell(`$ ${oneLine(commandLine(session, argv))}\n`)
  await startAgent(session, argv)
}

function agentNamed(typed: string): Agent {
  const flavor = parseChoice(
    flavorNamed(typed),
    ADAPTERS.map((one) => one.flavor),
    '--to',
    'agent',
  )
  return ADAPTERS.find((one) => one.flavor === flavor) as Agent
}

function starterOf(agent: Agent | undefined): NonNullable<Agent['start']> {
  if (agent?.start) return agent.start
  const can = ADAPTERS.filter((one) => one.start).map((one) => one.flavor)
  throw new RecollectError(
    'USAGE',
    agent ? `${agent.title} cannot be started with a prompt` : '--exec needs --to',
    {
      where: '--exec',
      hint: `--to one of ${can.join(', ')}; or leave --exec out, and paste what is printed`,
    },
  )
}

function keepBriefing(session: Session, text: string): string {
  const directory = join(new Config().home, 'handoff')
  ensureDirectory(directory, 0o700, false)
  const path = join(directory, `${session.session_uid.replace(/[^\w.-]/g, '-')}.md`)
  replaceFile(path, text, { mode: 0o600 })
  return path
}
