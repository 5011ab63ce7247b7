// What is kept where, what eviction would do now, what is gone, what is pinned.
import type { JSX } from 'preact'
import type { Storage } from '../../server/storage.ts'
import { change, useAnswer } from '../api.ts'
import { ShareBar } from '../charts/bars.tsx'
import { bytes, count, idOf, plural, titleOf } from '../format.ts'
import { Answered, Card, Command, Table, When } from '../parts.tsx'
import { sessionPath } from '../router.ts'

const REASONS: Record<string, string> = {
  age: 'analyzed, and its last event is older than the age set',
  soft_cap: 'analyzed, and the cache is over its soft cap',
  hard_cap: 'NOT analyzed: the cache is over its hard cap',
  forgotten: 'forgotten on request',
}

export function StorageView(): JSX.Element {
  const answer = useAnswer<Storage>('storage')
  return (
    <>
      <div class="view-head">
        <h1>Storage</h1>
      </div>
      <Answered answer={answer}>
        {(storage) => (
          <>
            <div class="columns">
              {storage.tiers.map((tier) => (
                <TierCard tier={tier} storage={storage} />
              ))}
            </div>
            <PlanCard plan={storage.plan as unknown as PlanJson} />
            <div class="columns">
              <Receipts storage={storage} />
              <Pins storage={storage} />
            </div>
          </>
        )}
      </Answered>
    </>
  )
}

function TierCard({ tier, storage }: { tier: Storage['tiers'][number]; storage: Storage }): JSX.Element {
  const isRaw = tier.name === 'raw'
  return (
    <Card title={isRaw ? 'Raw cache' : 'Durable memory'} aside={<strong>{bytes(tier.bytes)}</strong>}>
      <ShareBar
        value={tier.bytes}
        most={tier.hard_cap_bytes}
        marks={tier.soft_cap_bytes === null ? [] : [tier.soft_cap_bytes]}
        label={`${bytes(tier.bytes)} of ${bytes(tier.hard_cap_bytes)}`}
      />
      <dl class="pairs">
        {tier.soft_cap_bytes !== null && (
          <>
            <dt>eviction begins at</dt>
            <dd>{bytes(tier.soft_cap_bytes)}</dd>
          </>
        )}
        <dt>{isRaw ? 'ceiling' : 'review at'}</dt>
        <dd>{bytes(tier.hard_cap_bytes)}</dd>
        {isRaw && (
          <>
            <dt>kept at most</dt>
            <dd>
              {storage.policy.raw_max_age_days} days after the last event
              {storage.policy.sole_copies === 'keep' && ', only copies for longer'}
            </dd>
          </>
        )}
        {tier.parts.map((part) => (
          <>
            <dt>{part.name}</dt>
            <dd>{bytes(part.bytes)}</dd>
          </>
        ))}
        <dt>at</dt>
        <dd class="path">{tier.path}</dd>
      </dl>
      <p class="muted">
        {isRaw
          ? 'Events and their bodies. Evicted by budget; rebuilt from the agents’ logs where those still exist.'
          : 'Digests, usage, lineage, patterns, receipts. Never evicted.'}
      </p>
    </Card>
  )
}

interface PlanJson {
  steps: {
    session_uid: string
    reason: string
    bytes: number
    usage_after_bytes: number
    is_data_loss: boolean
    is_sole_copy: boolean
    title: string | null
    last_at: string | null
  }[]
  analyze_first: string[]
  usage_before_bytes: number
  usage_after_bytes: number
}

function PlanCard({ plan }: { plan: PlanJson }): JSX.Element {
  return (
    <Card title="What eviction would do now" aside={<Command text="recollect evict --dry-run" />}>
      {plan.steps.length === 0 ? (
        <p class="muted">Nothing: the cache is below its caps and nothing is too old.</p>
      ) : (
        <>
          <p>
            {plural(plan.steps.length, 'session')} would go, {bytes(plan.usage_before_bytes)} →{' '}
            {bytes(plan.usage_after_bytes)}. Their digests stay.
          </p>
          <Table
            caption="Sessions that would be evicted"
            columns={[
              {
                title: 'Session',
                cell: (step) => <a href={sessionPath(step.session_uid)}>{titleOf(step)}</a>,
              },
              { title: 'Last event', cell: (step) => <When at={step.last_at} /> },
              { title: 'Only copy', cell: (step) => (step.is_sole_copy ? 'only copy' : '') },
              { title: 'Why', cell: (step) => REASONS[step.reason] ?? step.reason },
              { title: 'Frees', cell: (step) => bytes(step.bytes), isNumber: true },
              { title: 'Cache after', cell: (step) => bytes(step.usage_after_bytes), isNumber: true },
            ]}
            rows={plan.steps}
            limit={20}
          />
        </>
      )}
    </Card>
  )
}

function Receipts({ storage }: { storage: Storage }): JSX.Element {
  return (
    <Card title="Receipts" class="wide" aside={<span class="muted">{count(storage.receipt_count)}</span>}>
      {storage.receipts.length === 0 ? (
        <p class="muted">Nothing was evicted yet.</p>
      ) : (
        <Table
          caption="What was evicted"
          columns={[
            { title: 'When', cell: (row) => <When at={row.evicted_at} /> },
            {
              title: 'Session',
              cell: (row) => <a href={sessionPath(row.session_uid)}>{idOf(row.session_uid)}</a>,
            },
            { title: 'Events', cell: (row) => count(row.event_count), isNumber: true },
            { title: 'Freed', cell: (row) => bytes(row.bytes), isNumber: true },
            { title: 'Why', cell: (row) => REASONS[row.reason] ?? row.reason },
          ]}
          rows={storage.receipts}
          limit={20}
        />
      )}
    </Card>
  )
}

function Pins({ storage }: { storage: Storage }): JSX.Element {
  return (
    <Card title="Pinned" aside={<span class="muted">{count(storage.pins.length)}</span>}>
      {storage.pins.length === 0 && (
        <p class="muted">No session is pinned. A pinned one keeps its raw whatever the caps say.</p>
      )}
      <ul class="list">
        {storage.pins.map((pin) => (
          <li>
            <a href={sessionPath(pin.session_uid)}>{titleOf(pin)}</a>{' '}
            <button
              type="button"
              class="quiet"
              onClick={() => change('unpin', { session_uid: pin.session_uid })}
            >
              unpin
            </button>
          </li>
        ))}
      </ul>
    </Card>
  )
}
