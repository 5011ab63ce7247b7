// The agents: which are here, whether their transcripts are read before they delete them, whether their hooks run, and
// what of their files was not understood.
import type { Adapter, Environment } from '../adapters/adapter.ts'
import type { Integration } from '../adapters/integration.ts'
import { lastFired, statusOf } from '../capture/hook-status.ts'
import type { Config } from '../config.ts'
import { type Discovery, discover } from '../sources/discover.ts'
import { readSpoolState } from '../sources/spool.ts'
import type { ReadHandle } from '../store/store.ts'
import { ageText, DAY, type Finding, finding } from './finding.ts'

const SHOWN = 5

export interface AgentContext {
  config: Config
  env: Environment
  now: number
  adapters: readonly Adapter[]
  integrations: readonly Integration[]
  /** Undefined where nothing is remembered. */
  handle: ReadHandle | undefined
}

export function checkAgents(context: AgentContext): Finding[] {
  const { config, env, adapters, integrations } = context
  const found = discover(adapters, env, extraRoots(config))
  const present = integrations.filter((one) => countOf(found, one.flavor) > 0)
  return [
    ...agentsFound(context, found),
    ...present.flatMap((one) => checkRetention(context, one)),
    ...present.flatMap((one) => checkHooks(context, one)),
    ...unreadable(found),
  ]
}

function extraRoots(config: Config): Record<string, string[]> {
  const given = Object.entries(config.get('sources') as Record<string, { roots?: unknown }>)
  return Object.fromEntries(
    given.map(([flavor, { roots }]) => [flavor, Array.isArray(roots) ? roots.map(String) : []]),
  )
}

const countOf = (found: Discovery, flavor: string): number =>
  found.found.filter((one) => one.adapter.flavor === flavor).length

function agentsFound({ adapters, handle, integrations }: AgentContext, found: Discovery): Finding[] {
  const present = adapters.map((one) => one.flavor).filter((flavor) => countOf(found, flavor) > 0)
  if (present.length === 0) {
    const looked = found.roots.map((root) => root.path).join(', ')
    return [
      finding('agent.none', 'warning', `no agent has left anything; looked in ${looked}`, {
        fix: 'recollect demo',
      }),
    ]
  }
  return present.map((flavor) => {
    const title = integrations.find((one) => one.flavor === flavor)?.title ?? flavor
    const { version, sessions } = remembered(handle, flavor)
    const text = `${title}${version ? ` ${version}` : ''}: ${sessions} sessions remembered of ${countOf(found, flavor)} files`
    return sessions === 0
      ? finding('agent.found', 'warning', text, { subject: flavor, fix: 'recollect sweep' })
      : finding('agent.found', 'ok', text, { subject: flavor })
  })
}

function remembered(
  handle: ReadHandle | undefined,
  flavor: string,
): { version: string | null; sessions: number } {
  const row = handle?.memory
    .prepare(
      `SELECT count(*) AS sessions, (SELECT agent_version FROM sessions WHERE flavor = ?1 AND agent_version IS NOT NULL
         ORDER BY started_at DESC LIMIT 1) AS version FROM sessions WHERE flavor = ?1`,
    )
    .get(flavor) as { version: string | null; sessions: number } | undefined
  return row ?? { version: null, sessions: 0 }
}

/** Days before the deletion at which it becomes urgent. */
const URGENT_DAYS = 4

function checkRetention(
  { config, env, now }: AgentContext,
  { flavor, title, keeps }: Integration,
): Finding[] {
  if (!keeps) return []
  const { days, setting } = keeps(env)
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
        fix: `raise ${setting}`,
      }),
    ]
  if (left < URGENT_DAYS) return [finding('agent.retention', 'error', text, more)]
  if (left < days / 2) return [finding('agent.retention', 'warning', text, more)]
  return [finding('agent.retention', 'ok', text, { subject: flavor })]
}

function checkHooks({ config, env, now, adapters }: AgentContext, integration: Integration): Finding[] {
  const status = statusOf(integration, env, undefined, lastFired(config.home, adapters))
  const { flavor, title } = integration
  const about = { subject: flavor }
  const install = `recollect hooks install --agent ${flavor}`
  const say = (severity: Finding['severity'], text: string, fix?: string): Finding[] => [
    finding('hooks.state', severity, `${title}: ${text}`, { ...about, ...(fix ? { fix } : {}) }),
  ]
  if (status.problem) return say('warning', status.problem, install)
  if (status.installedCount === 0)
    return say('info', 'no hooks; sessions are read when you sweep', `${install} --dry-run`)
  if (status.obstacle) return say('warning', status.obstacle.what, `recollect hooks status --agent ${flavor}`)
  const fired = status.fired ? `last fired ${ageText(now - status.fired.at)} ago` : 'never fired yet'
  return say('ok', `${status.installedCount} of ${status.wantedCount} hooks, ${fired}`)
}

/** A link may be meant to be left alone; what should be readable and is not is lost when the agent deletes it. */
function unreadable({ problems }: Discovery): Finding[] {
  const severity = (reason: string): Finding['severity'] =>
    reason.startsWith('symbolic link') ? 'warning' : 'error'
  const worst = problems.toSorted((a, b) => severity(a.reason).localeCompare(severity(b.reason)))
  const shown = worst.slice(0, SHOWN).map(({ path, reason }) =>
    finding('source.unreadable', severity(reason), `${path}: ${reason}`, {
      subject: path,
      fix: `ls -ld '${path}'`,
    }),
  )
  const rest = worst.slice(SHOWN)
  if (rest.length > 0)
    shown.push(
      finding('source.unreadable', severity(rest[0]?.reason ?? ''), `${rest.length} more`, {
        fix: 'recollect sweep --json',
      }),
    )
  return shown
}

export function checkUnderstanding(handle: ReadHandle): Finding[] {
  return [...gaps(handle), ...drift(handle)]
}

function gaps({ cache }: ReadHandle): Finding[] {
  const rows = cache
    .prepare(
      `SELECT s.flavor, g.reason, count(*) AS n, sum(g.length) AS bytes, min(g.path) AS path FROM gaps g
       JOIN sources s USING (path) WHERE NOT g.is_pending GROUP BY s.flavor, g.reason ORDER BY n DESC`,
    )
    .all() as unknown as { flavor: string; reason: string; n: number; bytes: number; path: string }[]
  return rows.slice(0, SHOWN).map(({ flavor, reason, n, bytes, path }) =>
    finding('source.gaps', 'warning', `${flavor}: ${reason} ×${n}, ${bytes} bytes, such as ${path}`, {
      subject: flavor,
      fix: 'docs/damage.md tells what it means; nothing around it was lost',
    }),
  )
}

/** Where a new version of an agent writes what we do not know, it is kept as it is, and named here. */
function drift({ cache, memory }: ReadHandle): Finding[] {
  const rows = cache
    .prepare(
      `SELECT s.flavor, u.name, sum(u.count) AS n, json_group_array(DISTINCT s.session_uid) AS uids
       FROM unknown_records u JOIN sources s USING (path) GROUP BY s.flavor, u.name ORDER BY n DESC`,
    )
    .all() as unknown as { flavor: string; name: string; n: number; uids: string }[]
  const versionOf = memory.prepare('SELECT agent_version AS version FROM sessions WHERE session_uid = ?')
  const versions = (uids: string): string => {
    const all = (JSON.parse(uids) as (string | null)[])
      .slice(0, 200)
      .map((uid) => (versionOf.get(uid) as { version: string | null } | undefined)?.version)
    return [...new Set(all.filter(Boolean))].sort().join(', ')
  }
  return [...new Set(rows.map((row) => row.flavor))].map((flavor) => {
    const names = rows.filter((row) => row.flavor === flavor)
    const shown = names.slice(0, SHOWN).map(({ name, n, uids }) => {
      const by = versions(uids)
      return `${name} ×${n}${by ? ` (${by})` : ''}`
    })
    const rest = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : ''
    return finding(
      'source.drift',
      'warning',
      `${flavor} writes records we do not know: ${shown.join(', ')}${rest}`,
      {
        subject: flavor,
        fix: 'npm install -g recollect@latest, then recollect sweep --full',
      },
    )
  })
}
