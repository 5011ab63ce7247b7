// How well the memory understands what it reads.
import type { JSX } from 'preact'
import type { Coverage, FlavorCoverage } from '../../../query/coverage.ts'
import { useAnswer } from '../api.ts'
import { ShareBar } from '../charts/bars.tsx'
import { ago, bytes, count, plural } from '../format.ts'
import { Answered, Card, Command, Empty, SweepButton, Table, When } from '../parts.tsx'
import { to } from '../router.ts'
import { GapTable } from './raw.tsx'

export function HealthView(): JSX.Element {
  const answer = useAnswer<Coverage>('health')
  return (
    <>
      <div class="view-head">
        <h1>Health</h1>
        <SweepButton />
        <Command text="recollect verify" />
      </div>
      <Answered answer={answer}>
        {(coverage) => (
          <>
            <div class="columns thirds">
              {coverage.flavors.map((flavor) => (
                <FlavorCard flavor={flavor} />
              ))}
            </div>
            {coverage.flavors.length === 0 && (
              <Empty title="No agent has left anything yet" command="recollect sweep" />
            )}
            <Card title="Gaps" aside={<span class="muted">{count(coverage.gap_count)}</span>}>
              {coverage.gaps.length === 0 ? (
                <p class="muted">Every byte that was read was understood.</p>
              ) : (
                <GapTable gaps={coverage.gaps} />
              )}
            </Card>
            <Card title="Reported by retention">
              {coverage.log.length === 0 ? (
                <p class="muted">No loss and no cap passed.</p>
              ) : (
                <Table
                  caption="Reported by retention"
                  columns={[
                    { title: 'When', cell: (row) => <When at={row.at} /> },
                    {
                      title: 'What',
                      cell: (row) => row.name.replace('session_memory.', '').replaceAll('_', ' '),
                    },
                    { title: 'Session', cell: (row) => row.session_uid },
                    { title: 'Detail', cell: (row) => row.detail },
                  ]}
                  rows={coverage.log}
                />
              )}
            </Card>
          </>
        )}
      </Answered>
    </>
  )
}

function FlavorCard({ flavor }: { flavor: FlavorCoverage }): JSX.Element {
  const secrets = Object.entries(flavor.redactions)
  return (
    <Card
      title={flavor.flavor}
      aside={<a href={to('/sessions', { flavor: flavor.flavor })}>{plural(flavor.sessions, 'session')}</a>}
    >
      <p>
        <strong>{(flavor.coverage * 100).toFixed(flavor.coverage === 1 ? 0 : 2)} %</strong>{' '}
        <span class="muted">understood of {bytes(flavor.read_bytes)}</span>
      </p>
      <ShareBar
        value={flavor.coverage}
        most={1}
        label={`${(flavor.coverage * 100).toFixed(2)} % understood`}
      />
      <dl class="pairs">
        <dt>events</dt>
        <dd>{count(flavor.events)}</dd>
        <dt>files</dt>
        <dd>
          {count(flavor.sources)}
          {flavor.missing_sources > 0 && `, ${flavor.missing_sources} gone`}
        </dd>
        <dt>not read yet</dt>
        <dd>{bytes(Math.max(0, flavor.source_bytes - flavor.read_bytes))}</dd>
        <dt>gaps</dt>
        <dd>
          {count(flavor.gaps)}
          {flavor.gaps > 0 && `, ${bytes(flavor.gap_bytes)}`}
        </dd>
        <dt>last read in</dt>
        <dd>{ago(flavor.last_ingested_at)}</dd>
        <dt>last active</dt>
        <dd>{ago(flavor.last_active_at)}</dd>
        <dt>secrets taken out</dt>
        <dd>{secrets.length === 0 ? 'none' : secrets.map(([rule, n]) => `${rule} ×${n}`).join(', ')}</dd>
      </dl>
      {flavor.unknown_records.length > 0 && (
        <details>
          <summary>{plural(flavor.unknown_records.length, 'kind')} of records nobody described</summary>
          <ul class="list">
            {flavor.unknown_records.map((record) => (
              <li>
                <code>{record.name}</code> ×{count(record.count)}
              </li>
            ))}
          </ul>
        </details>
      )}
    </Card>
  )
}
