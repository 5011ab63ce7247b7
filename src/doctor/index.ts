// Looks at everything that can go wrong and says what to do about it. Reads only; each finding names the command that
// mends it.
import type { AnyAdapter, Environment } from '../adapters/adapter.ts'
import { ADAPTERS } from '../adapters/index.ts'
import { INTEGRATIONS } from '../adapters/integrations.ts'
import { withAnswers } from '../capture/hooks.ts'
import type { Config } from '../config.ts'
import { causeOf, RecollectError } from '../errors.ts'
import { adaptersOf, type Plugin } from '../sources/plugins.ts'
import type { Reader } from '../store/reader/index.ts'
import { openForReading, type StorePaths, storePaths } from '../store/reading.ts'
import { type AgentContext, agentsHere, checkAgents } from './agents.ts'
import { checkAtOnce, sizesOf } from './attention.ts'
import { checkCapture } from './capture.ts'
import { type Finding, finding, type Severity } from './finding.ts'
import { checkAccess, checkNode, checkSpace } from './machine.ts'
import { checkIntegrity, checkPrices, unopened } from './memory.ts'
import { checkedConfig } from './settings.ts'

export interface DoctorOptions {
  env: Environment
  /** Check every payload against its hash, too. */
  isDeep?: boolean
  now?: number
  onWait?: AgentContext['onWait']
  patienceMs?: number
}

/** As programs read it. */
export interface DoctorDocument {
  findings: Finding[]
  counts: Record<Severity, number>
}

export function doctorDocument(findings: Finding[]): DoctorDocument {
  const counts: DoctorDocument['counts'] = { ok: 0, info: 0, warning: 0, error: 0 }
  for (const one of findings) counts[one.severity]++
  return { findings, counts }
}

/** Every finding, also the good ones, in the order of the checks. */
export async function examine(options: DoctorOptions): Promise<Finding[]> {
  const { env, isDeep = false, now = Date.now(), onWait, patienceMs } = options
  const node = checkNode(process.version, process.execPath, now)
  let config: Config
  try {
    config = checkedConfig(env)
  } catch (error) {
    return [node, badConfig(error)]
  }
  const findings = [node, checkAccess(config.home), checkSpace(config.home)]
  const paths = storePaths(config.home, config.get('store.db_path'))
  const memory = open(paths, findings)
  let handle: Reader | undefined = memory
  try {
    // A damaged database may fail any question: once one has, no more are asked.
    const ask = async (check: (handle: Reader) => Finding[] | Promise<Finding[]>): Promise<void> => {
      if (!handle) return
      try {
        const found = await check(handle)
        findings.push(...found)
        if (found.some((one) => one.id === 'memory.integrity' && one.severity === 'error')) handle = undefined
      } catch (error) {
        findings.push(unopened(error as Error))
        handle = undefined
      }
    }
    await ask((sound) => checkIntegrity(sound, paths, isDeep))
    await ask((sound) => checkAtOnce(sound, config, sizesOf(paths), now))
    await ask((sound) => checkPrices(sound, config, now))
    const integrations = INTEGRATIONS.map((one) => withAnswers(one, config))
    const agents = { adapters: await adaptersHere(config, findings), integrations }
    const context: AgentContext = { config, env, now, ...agents, handle, onWait, patienceMs }
    const here = agentsHere(context)
    findings.push(...checkAgents(context, here), ...(await checkCapture(context, here)))
  } finally {
    memory?.close()
  }
  return findings
}

/** Ours where those of the settings cannot be loaded. */
async function adaptersHere(config: Config, findings: Finding[]): Promise<readonly AnyAdapter[]> {
  try {
    const adapters = await adaptersOf(config)
    for (const one of adapters) if ('plugin' in one) findings.push(pluginFinding(one as Plugin))
    return adapters
  } catch (error) {
    if (!(error instanceof RecollectError)) throw error
    const text = `${error.message} (${error.where})`
    findings.push(finding('source.plugin', 'error', text, { subject: error.where, fix: error.hint }))
    return ADAPTERS
  }
}

function pluginFinding({ flavor, plugin: { path, sha256 } }: Plugin): Finding {
  return finding('source.plugin', 'info', `${flavor} is read by ${path}, sha256 ${sha256}`, { subject: path })
}

function open(paths: StorePaths, findings: Finding[]): (Reader & { close(): void }) | undefined {
  try {
    return openForReading(paths)
  } catch (error) {
    findings.push(unopened(error as Error))
    return undefined
  }
}

function badConfig(error: unknown): Finding {
  if (!(error instanceof RecollectError)) throw error
  const [why] = causeOf(error)?.split('\n') ?? []
  const text = `${error.message} (${error.where})${why === undefined ? '' : `: ${why}`}`
  return finding('config.invalid', 'error', text, { fix: error.hint })
}
