// What a team server tells of sessions and what came of them, as the trees that one machine's memory shows.
import type { LineageAnswer, SessionLine } from '../contract.ts'
import { type Lineage, type NodeFacts, treesOf } from '../query/lineage.ts'

export function treesOfAnswer({ sessions, edges }: LineageAnswer): Lineage {
  const told = new Map(sessions.map((one) => [one.session_uid, one]))
  const uids = new Set([...told.keys(), ...edges.flatMap((one) => [one.session_uid, one.parent_uid])])
  const links = edges.map((one) => ({
    child: one.session_uid,
    parent: one.parent_uid,
    kind: one.kind,
    at: one.at === null ? null : Date.parse(one.at),
    evidence: null,
    isConcluded: false,
    isLogged: one.session_uid.startsWith('lineage:'),
  }))
  return treesOf(
    [...uids].map((uid) => factsOf(uid, told.get(uid))),
    links,
  )
}

const factsOf = (uid: string, line: SessionLine | undefined): NodeFacts => ({
  session_uid: uid,
  logged_as: [],
  state: line ? 'here' : 'unknown',
  evicted_at: null,
  flavor: line?.flavor ?? uid.slice(0, uid.indexOf(':')),
  title: line?.title ?? null,
  first_prompt: '',
  repo: line?.repo ?? null,
  model: line?.model ?? null,
  started_at: line?.started_at ?? null,
  ended_at: line?.ended_at ?? null,
  outcome: line?.outcome ?? 'unknown',
  total_tokens: line?.total_tokens ?? 0,
  cost_usd: null,
  compactions: 0,
  agents: [],
  commits: [],
})
