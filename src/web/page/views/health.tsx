// How well the memory understands what it reads.
import type { JSX } from 'preact'
import type { Finding, Severity } from '../../../doctor/finding.ts'
import type { DoctorDocument } from '../../../doctor/index.ts'
import type { Coverage, FlavorCoverage } from '../../../query/coverage.ts'
import { type Answer, useAnswer } from '../api.ts'
import { ShareBar } from '../charts/bars.tsx'
import { ago, bytes, count, plural } from '../format.ts'
import { Answered, AnsweredLine, Card, Command, Empty, SweepButton, Table, When } from '../parts.tsx'
import { to } from '../router.ts'
import { GapTable } from './raw.tsx'

export function HealthView(): JSX.Element {
  const answer = useAnswer<Coverage>('health')
  const doctor = useAnswer<DoctorDocument>('doctor')
  return (
    <>
      <div class="view-head">
        <h1>Health</h1>
        <SweepButton />
        <Command text="recollect verify" />
      </div>
      <DoctorCard answer={doctor} />
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

const SEVERITIES: Record<Severity, [sign: string, word: string]> = {
  error: ['✕', 'error'],
  warning: ['▲', 'warning'],
  info: ['·', 'note'],
  ok: ['✓', 'ok'],
}

/** What is wrong, worst first; what is well, one click away. */
function DoctorCard({ answer }: { answer: Answer<DoctorDocument> }): JSX.Element {
  return (
    <Card title="Doctor">
      <AnsweredLine answer={answer}>{(found) => <Examined found={found} />}</AnsweredLine>
    </Card>
  )
}

function Examined({ found }: { found: DoctorDocument }): JSX.Element {
  const of = (severity: Severity): Finding[] => found.findings.filter((one) => one.severity === severity)
  const open = [...of('error'), ...of('warning')]
  return (
    <>
      <p class="muted">
        {plural(found.counts.error, 'error')}, {plural(found.counts.warning, 'warning')}
      </p>
      {open.length === 0 ? <p class="muted">Everything is as it should be.</p> : <Findings list={open} />}
      {found.counts.info > 0 && (
        <details>
          <summary>
            {plural(found.counts.info, 'note')}: what could be set up, and what is told for completeness
          </summary>
          <Findings list={of('info')} />
        </details>
      )}
      <details>
        <summary>{plural(found.counts.ok, 'check')} found nothing wrong</summary>
        <Findings list={of('ok')} />
      </details>
    </>
  )
}

function Findings({ list }: { list: readonly Finding[] }): JSX.Element {
  return (
    <ul class="findings">
      {list.map((one) => {
        const [sign, word] = SEVERITIES[one.severity]
        return (
          <li class={`severity-${one.severity}`}>
            <span class="badge">
              <span aria-hidden="true">{sign}</span> {word}
            </span>
            <code>{one.id}</code>
            <span class="finding-text">{one.text}</span>
            {one.fix !== null &&
              (/^(recollect|npm) [^,;]*$/.test(one.fix) ? (
                <Command text={one.fix} />
              ) : (
                <span class="muted">→ {one.fix}</span>
              ))}
          </li>
        )
      })}
    </ul>
  )
}

function FlavorCard({ flavor }: { flavor: FlavorCoverage }): JSX.Element {
  const secrets = Object.entries(flavor.redactions)
  return (
    <Card
      title={flavor.flavor}
      aside={
        <a href={to('/sessions', { flavor: flavor.flavor, all: '1' })}>
          {plural(flavor.sessions, 'session')}
        </a>
      }
    >
      <p>
        <strong>{(flavor.coverage * 100).toFixed(flavor.coverage === 1 ? 0 : 2)} %</strong>{' '}
        <span class="muted">understood of {bytes(flavor.read_bytes)}</span>
      </p>
      <ShareBar
        value={flavor.coverage}
        most={1}
        isGoal
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
