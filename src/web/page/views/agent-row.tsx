// The head of a sub-agent in a transcript: unfolds what it did, in place.
import type { JSX } from 'preact'
import { plural } from '../format.ts'
import { param, sessionPath, setParams } from '../router.ts'
import { redacted } from '../text/plain.tsx'
import type { AgentHead } from './transcript-rows.ts'

/** The address holds which are open. */
function toggle(id: string): void {
  const now = (param('agents') ?? '').split(',').filter((one) => one !== '')
  const next = now.includes(id) ? now.filter((one) => one !== id) : [...now, id]
  setParams({ agents: next.length === 0 ? undefined : next.join(',') }, { replace: true })
}

export function AgentRow({ agent, task }: { agent: AgentHead; task: string | undefined }): JSX.Element {
  return (
    <div class="step agent-head">
      <button
        type="button"
        class="quiet"
        aria-expanded={agent.isOpen}
        onClick={() => toggle(agent.id)}
        title={agent.isOpen ? 'fold' : 'unfold'}
      >
        <span aria-hidden="true">{agent.isOpen ? '▾' : '▸'}</span> Sub-agent{' '}
        <strong class="clip">{redacted(task ?? agent.name)}</strong>
      </button>
      <span class="muted">
        {agent.model && `${agent.model} · `}
        {agent.isLoading
          ? 'loading…'
          : agent.eventCount === undefined
            ? 'a session of its own'
            : plural(agent.eventCount, 'event')}
      </span>
      {agent.sessionUid !== undefined && <a href={sessionPath(agent.sessionUid)}>open as a session</a>}
    </div>
  )
}
