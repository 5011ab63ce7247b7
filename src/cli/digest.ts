// `digest` and `env`: thin over digest/, and all from Tier 2, so they answer without a cache.

import { getDigest } from '../digest/patterns.ts'
import { shellQuoted } from '../files/shell.ts'
import { isRunning } from '../model.ts'
import { pricesFor } from '../query/prices.ts'
import { resolveSession } from '../query/sessions.ts'
import { treeCost, treeOf } from '../query/tree-cost.ts'
import { overridesOf } from '../usage/overrides.ts'
import { type Answers, answerFrom } from './answers.ts'
import { digestText, LABEL } from './digest-text.ts'
import { printFolded, printJson, write } from './print.ts'
import { terminal } from './streams.ts'
import { oneLine } from './text.ts'
import { withTier2 } from './with-memory.ts'

export async function showDigest(typed: string, options: { json?: boolean }): Promise<void> {
  const ask = await answerFrom('digest', inMemory)
  const { digest, tree } = await ask(typed)
  if (options.json) return printJson({ ...digest, tree })
  const setting = {
    isRunning: isRunning({ ...digest, ended_at: digest.ended_at || null }, Date.now()),
    tree: tree ?? null,
  }
  printFolded(digestText(digest, setting), (line) => (line.startsWith(' ') ? 0 : LABEL))
}

/** With the cost of its sub-agents: theirs are sessions of their own, so no digest of one has it. */
const inMemory: Answers['digest'] = (typed) =>
  withTier2(async (handle, config) => {
    const uid = resolveSession(handle, typed)
    const digest = getDigest(handle, uid)
    const below = treeOf(handle, uid)
    const tree =
      below.length === 1 ? null : treeCost(handle, await pricesFor(handle, overridesOf(config), below), uid)
    return { digest, tree }
  })

const ENV_COMMENT =
  '# of one session, for tools that read HELIX_*: its id, repository, agent, tokens in and out, the share of calls that were plumbing, and the memory it stands in'

export async function showEnv(typed: string): Promise<void> {
  await withTier2((handle, _, paths) => {
    const digest = getDigest(handle, resolveSession(handle, typed))
    const { cost } = digest
    // A shell gets every byte; a terminal must not obey any.
    const put = (line: string): void => write(terminal(1) ? `${oneLine(line)}\n` : `${line}\n`)
    put(`export HELIX_SESSION_UID=${shellQuoted(digest.session_uid)}`)
    put(`export HELIX_REPO=${shellQuoted(digest.repo)}`)
    put(`export HELIX_FLAVOR=${shellQuoted(digest.flavor)}`)
    put(`export HELIX_TOKENS=${cost.input_tokens + cost.output_tokens}`)
    put(`export HELIX_INFRA_OVERHEAD_SHARE=${digest.metrics.infra_overhead_share}`)
    put(`export HELIX_STORE_DB=${shellQuoted(paths.memoryPath)}`)
    // Behind them: whoever leaves the quotes around $(…) out has all of it on one line.
    put(ENV_COMMENT)
  })
}
