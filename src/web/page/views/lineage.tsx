// Which session came from which: trees as nested rows, each below the one it was born from.
import type { JSX } from 'preact'
import type { Lineage, LineageDocument, LineageEdge, LineageNode } from '../../../query/lineage.ts'
import { useAnswer } from '../api.ts'
import { plural, short, titleOf, usd } from '../format.ts'
import { Answered, Empty, OutcomeBadge, When } from '../parts.tsx'
import { param, sessionPath, setParams } from '../router.ts'

const EDGES: Record<string, string> = {
  created: 'created',
  compacted: 'compacted into',
  swapped: 'swapped to',
  cleared: 'cleared, then',
  interactive_fork: 'forked',
  bg_fork: 'forked in the background',
  resumed: 'resumed as',
  subagent: 'sub-agent',
  handoff: 'handed off to',
}

/** Beside the birth that puts a session where it stands. */
const ALSO: Record<string, string> = {
  interactive_fork: 'forked',
  bg_fork: 'forked in the background',
  subagent: 'a sub-agent',
  handoff: 'handed off',
}

const SHOWN = 200

/** Trees as they came, the one that began last on top. */
function newestFirst(lineage: Lineage): Lineage {
  const trees: LineageNode[][] = []
  for (const node of lineage.nodes) {
    if (node.depth === 0) trees.push([node])
    else trees.at(-1)?.push(node)
  }
  return { ...lineage, nodes: trees.reverse().flat() }
}

export function LineageView(): JSX.Element {
  const limit = Number(param('limit') ?? SHOWN)
  const answer = useAnswer<LineageDocument>(`lineage?related=1&limit=${limit}`)
  return (
    <>
      <div class="view-head">
        <h1>Lineage</h1>
        <p class="muted">Sessions that came from another one, or led to one.</p>
      </div>
      <Answered answer={answer}>
        {(lineage) =>
          lineage.nodes.length === 0 ? (
            <Empty title="Every session stands alone">
              <p>Forks, resumes, compactions and sub-agents will be drawn here.</p>
            </Empty>
          ) : (
            <>
              <LineageList lineage={newestFirst(lineage)} />
              {lineage.nodes.length >= limit && (
                <button type="button" onClick={() => setParams({ limit: String(limit * 4) })}>
                  show older ones too
                </button>
              )}
            </>
          )
        }
      </Answered>
    </>
  )
}

export function LineageList({ lineage, here }: { lineage: Lineage; here?: string }): JSX.Element {
  if (lineage.nodes.length === 0) return <Empty title="This session stands alone" />
  return (
    <div class="card lineage">
      {here !== undefined && lineage.nodes.length === 1 && (
        <p class="muted lineage-alone">This session came from no other and led to none.</p>
      )}
      <ul>
        {lineage.nodes.map((node) => (
          <NodeRow node={node} isHere={node.session_uid === here} />
        ))}
      </ul>
      {lineage.problems.map((problem) => (
        <p class="muted">
          <span aria-hidden="true">! </span>
          {problem.kind.replace('_', ' ')}: {problem.session_uid} {problem.detail}
        </p>
      ))}
    </div>
  )
}

function NodeRow({ node, isHere }: { node: LineageNode; isHere: boolean }): JSX.Element {
  const isKnown = node.state === 'here' || node.state === 'evicted'
  return (
    <li
      class={`lineage-node ${isHere ? 'here' : ''} ${node.depth === 0 ? 'root' : ''}`}
      style={{ '--depth': Math.min(node.depth, 12) }}
      aria-current={isHere ? 'true' : undefined}
    >
      <span class="edge">{node.edge ? (EDGES[node.edge.kind] ?? node.edge.kind) : ''}</span>
      <span class="node-title">
        {isKnown ? (
          <a href={sessionPath(node.session_uid)}>{titleOf(node)}</a>
        ) : (
          <span class="muted">{node.session_uid}</span>
        )}
        {isHere && <span class="badge">this one</span>}
        {node.state !== 'here' && <span class="badge">{node.state}</span>}
      </span>
      <span class="muted node-facts">
        {node.agents.length > 0 && <span>{plural(node.agents.length, 'sub-agent')} inside</span>}
        {node.compactions > 0 && <span>{plural(node.compactions, 'compaction')}</span>}
        {node.other_edges
          .filter((edge) => edge.kind !== 'created')
          .map((edge) => (
            <OtherEdge edge={edge} />
          ))}
        {node.commits.length > 0 && <span>{plural(node.commits.length, 'commit')}</span>}
        <span class="node-agent clip">
          {node.flavor}
          {node.model && ` · ${node.model}`}
        </span>
        <span class="node-when">
          <When at={node.started_at} />
        </span>
        <span class="node-tokens">{node.total_tokens > 0 && `${short(node.total_tokens)} tokens`}</span>
        <strong class="node-cost">{node.cost_usd !== null && usd(node.cost_usd)}</strong>
        <span class="node-outcome">{isKnown && <OutcomeBadge outcome={node.outcome} />}</span>
      </span>
    </li>
  )
}

/** A log says `cleared` of the session that ended; a session's own file says it of the one that began afterwards. */
function OtherEdge({ edge }: { edge: LineageEdge }): JSX.Element {
  if (edge.kind === 'cleared')
    return <span>{edge.source === 'logged' ? 'ended by clear' : 'began with clear'}</span>
  // Gone on with in its own file: no other session is part of it.
  if (edge.kind === 'resumed' && edge.parent_uid === null)
    return (
      <span>
        resumed <When at={edge.at} />
      </span>
    )
  return (
    <span>
      also {ALSO[edge.kind] ?? edge.kind}
      {edge.parent_uid !== null && (
        <>
          {' '}
          from <a href={sessionPath(edge.parent_uid)}>{edge.parent_uid}</a>
        </>
      )}
    </span>
  )
}
