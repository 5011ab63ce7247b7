// The tool that tells which session came from which.

import { z } from 'zod'
import { OUTCOME_WORDS } from '../model.ts'
import { resolveSession } from '../query/ids.ts'
import { type LineageNode, lineageOf, nodeOf } from '../query/lineage.ts'
import { pricesFor } from '../query/prices.ts'
import { overridesOf } from '../usage/overrides.ts'
import { type Entry, type Line, line } from './result.ts'
import { counted, cursor, id, tool } from './tool.ts'

export const lineageTool = tool({
  name: 'lineage',
  description: 'Forks, resumes, compactions, sub-agents of a session.',
  input: z.strictObject({ id, cursor }),
  run: async ({ handle, config }, input) => {
    const uid = resolveSession(handle, input.id)
    const prices = await pricesFor(handle, overridesOf(config))
    const { nodes, problems } = lineageOf(handle, [uid], prices)
    const asked = nodeOf(nodes, uid)
    const doubts = problems.length === 0 ? '' : ` ${counted(problems.length, 'contradiction')} in the logs.`
    return {
      about: `${counted(nodes.length, 'session')}, children indented below their parent.${doubts}`,
      data: { sessions: nodes.length },
      entries: nodes.map((node, at) => nodeEntry(node, at, node === asked)).slice(input.cursor ?? 0),
    }
  },
})

function nodeEntry(node: LineageNode, at: number, isAsked: boolean): Entry {
  const how = node.edge?.kind ?? 'root'
  const what = node.title || node.first_prompt
  const words = line`${how} ${node.session_uid}${isAsked ? ' (asked)' : ''}  ${node.started_at?.slice(0, 16) ?? '?'}  ${OUTCOME_WORDS[node.outcome]}  ${what.slice(0, 120)}`
  return {
    at,
    text: `${'  '.repeat(Math.min(node.depth, 20))}${words}` as Line,
    data: {
      session: node.session_uid,
      parent: node.parent_uid,
      how,
      state: node.state,
      started_at: node.started_at,
      outcome: node.outcome,
      total_tokens: node.total_tokens,
      cost_usd: node.cost_usd,
      commits: node.commits.slice(0, 5),
      text: what.slice(0, 200),
    },
  }
}
