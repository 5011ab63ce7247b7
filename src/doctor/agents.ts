// The agents: which are here, whether their transcripts are read before they delete them, and what of their files cannot
// be read.

import { sep } from 'node:path'
import type { AnyAdapter, Environment } from '../adapters/adapter.ts'
import type { Integration } from '../adapters/integration.ts'
import { daysKept, isKeeper, type Keeper } from '../capture/keeping.ts'
import type { Config } from '../config.ts'
import { plural } from '../figures.ts'
import { shellQuoted } from '../files/shell.ts'
import { DAY } from '../model.ts'
import { type Discovery, discover, realDirectory } from '../sources/discover.ts'
import type { Problem } from '../sources/problem.ts'
import { extraRoots, namedRoots } from '../sources/roots.ts'
import { readSpoolState } from '../sources/spool.ts'
import type { Reader } from '../store/reader/index.ts'
import { checkDeletions } from './deletions.ts'
import { ageText, type Finding, finding } from './finding.ts'

const SHOWN = 5

export interface AgentContext {
  config: Config
  env: Environment
  now: number
  adapters: readonly AnyAdapter[]
  integrations: readonly Integration[]
  /** Undefined where nothing is remembered. */
  handle: Reader | undefined
  /** Told which agents' programs have not answered yet. */
  onWait?: ((programs: readonly string[]) => void) | undefined
  /** How long an agent's program may take. */
  patienceMs?: number | undefined
}

/** What a sweep would find, and the agents among those it would find something of. */
export interface AgentsHere {
  discovery: Discovery
  integrations: readonly Integration[]
}

export function agentsHere({ config, env, adapters, integrations }: AgentContext): AgentsHere {
  const discovery = discover(adapters, env, extraRoots(config, adapters))
  return { discovery, integrations: integrations.filter((one) => countOf(discovery, one.flavor) > 0) }
}

export function checkAgents(context: AgentContext, { discovery, integrations }: AgentsHere): Finding[] {
  return [
    ...agentsFound(context, discovery),
    ...integrations.filter(isKeeper).flatMap((one) => checkRetention(context, one)),
    ...checkDeletions({ ...context, integrations }),
    ...emptyRoots(context, discovery),
    ...unreadable(context, discovery),
  ]
}

const countOf = (found: Discovery, flavor: string): number =>
  found.found.filter((one) => one.adapter.flavor === flavor).length

function agentsFound({ adapters, handle }: AgentContext, found: Discovery): Finding[] {
  const present = adapters.filter(({ flavor }) => countOf(found, flavor) > 0)
  if (present.length === 0) {
    const looked = `looked in ${plural(found.roots.length, 'place')}`
    const text = `no agent has left anything; ${looked} (recollect sweep --dry-run --json names each)`
    return [finding('agent.none', 'warning', text, { fix: 'recollect demo' })]
  }
  return present.map((one) => {
    const { flavor, title = flavor } = one as AnyAdapter & { title?: string }
    const { version, sessions } = remembered(handle, flavor)
    const text = `${title}${version ? ` ${version}` : ''}: ${plural(sessions, 'session')} remembered of ${plural(countOf(found, flavor), 'file')}`
    return sessions === 0
      ? finding('agent.found', 'warning', text, { subject: flavor, fix: 'recollect sweep' })
      : finding('agent.found', 'ok', text, { subject: flavor })
  })
}

function remembered(
  handle: Reader | undefined,
  flavor: string,
): { version: string | null; sessions: number } {
  return handle?.sessions.flavorOf(flavor) ?? { version: null, sessions: 0 }
}

/** Days before the deletion at which it becomes urgent. */
const URGENT_DAYS = 4

function checkRetention({ config, env, now }: AgentContext, agent: Keeper): Finding[] {
  const { flavor, title, keeps } = agent
  const days = daysKept(agent, env)
  const setting = `"${keeps.key}" in ${keeps.file(env)}`
  const { sweptAt } = readSpoolState(config.home)
  const since = sweptAt === 0 ? 'no sweep yet' : `last sweep ${ageText(now - sweptAt)} ago`
  const text = `${title} deletes transcripts after ${days} d, ${since}`
  const left = days - (now - sweptAt) / DAY
  const more = {
    subject: flavor,
    fix: 'recollect sweep, then recollect schedule install so that it goes by itself',
  }
  if (days === 0)
    return [
      finding('agent.retention', 'error', `${title} keeps no transcripts: ${setting} is 0`, {
        subject: flavor,
        fix: 'recollect doctor --fix',
      }),
    ]
  if (left < URGENT_DAYS) return [finding('agent.retention', 'error', text, more)]
  if (left < days / 2) return [finding('agent.retention', 'warning', text, more)]
  return [finding('agent.retention', 'ok', text, { subject: flavor })]
}

/** A misspelt directory would be silently empty for ever. */
function emptyRoots({ config, env, adapters }: AgentContext, { found }: Discovery): Finding[] {
  const extra = extraRoots(config, adapters)
  return adapters.flatMap((adapter) => {
    const paths = found.filter((one) => one.adapter === adapter).map(({ source }) => source.path)
    return namedRoots(adapter, env, extra).flatMap((root) => {
      const real = realDirectory(root)
      if (real !== undefined && paths.some((path) => path === real || path.startsWith(`${real}${sep}`)))
        return []
      const what = real === undefined ? 'is not there' : `holds no session that ${adapter.flavor} would read`
      return [
        finding('source.empty', 'warning', `${root} ${what}`, {
          subject: root,
          fix: `look at [sources.${adapter.flavor}] in ${config.file}`,
        }),
      ]
    })
  })
}

/** A link may be meant to be left alone; what should be readable and is not is lost when the agent deletes it. */
function unreadable({ config }: AgentContext, { problems }: Discovery): Finding[] {
  const isLink = ({ code }: Problem): boolean => code === 'UNSAFE_PATH'
  const severity = (one: Problem): Finding['severity'] => (isLink(one) ? 'warning' : 'error')
  const worst = problems.toSorted((a, b) => severity(a).localeCompare(severity(b)))
  const shown = worst.slice(0, SHOWN).map((one) =>
    finding('source.unreadable', severity(one), `${one.path}: ${one.reason}`, {
      subject: one.path,
      fix: isLink(one)
        ? `to have it read, name what it leads to under [sources.<flavor>] in ${config.file}`
        : `ls -ld ${shellQuoted(one.path)}`,
    }),
  )
  const [next, ...others] = worst.slice(SHOWN)
  if (next)
    shown.push(
      finding('source.unreadable', severity(next), `${others.length + 1} more`, {
        fix: 'recollect sweep --json',
      }),
    )
  return shown
}
