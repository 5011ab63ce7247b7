// How well the memory understands what it reads.
import type { JSX } from 'preact'
import type { Finding, Severity } from '../../../doctor/finding.ts'
import type { DoctorDocument } from '../../../doctor/index.ts'
import type { Coverage, FlavorCoverage } from '../../../query/coverage.ts'
import { type Answer, useAnswer } from '../api.ts'
import { ago, bytes, count, plural } from '../format.ts'
import {
  Answered,
  AnsweredLine,
  Card,
  type Column,
  Command,
  Empty,
  SweepButton,
  Table,
  When,
} from '../parts.tsx'
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
            {coverage.flavors.length === 0 ? (
              <Empty title="No agent has left anything yet" command="recollect sweep" />
            ) : (
              <Flavors flavors={coverage.flavors} />
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

const percent = (coverage: number): string => `${(coverage * 100).toFixed(coverage === 1 ? 0 : 2)} %`

/** Of numbers by name, the sums over all agents. */
function summed(all: readonly Record<string, number>[]): [string, number][] {
  const sums = new Map<string, number>()
  for (const one of all)
    for (const [name, n] of Object.entries(one)) sums.set(name, (sums.get(name) ?? 0) + n)
  return [...sums].sort((a, b) => b[1] - a[1])
}

const told = (counts: readonly [string, number][]): string =>
  counts.map(([name, n]) => `${name} ×${count(n)}`).join(', ')

const unreadBytes = (row: FlavorCoverage): number => Math.max(0, row.source_bytes - row.read_bytes)

const figure = (
  title: string,
  of: (row: FlavorCoverage) => number,
  cell: (row: FlavorCoverage) => string = (row) => count(of(row)),
): Column<FlavorCoverage> => ({ title, cell, isNumber: true, value: of })

const COLUMNS: Column<FlavorCoverage>[] = [
  {
    title: 'Agent',
    cell: ({ flavor }) => <a href={to('/sessions', { flavor, all: '1' })}>{flavor}</a>,
    value: ({ flavor }) => flavor,
  },
  figure(
    'Understood',
    (row) => row.coverage,
    (row) => percent(row.coverage),
  ),
  figure(
    'Read',
    (row) => row.read_bytes,
    (row) => bytes(row.read_bytes),
  ),
  figure('Not read yet', unreadBytes, (row) => bytes(unreadBytes(row))),
  figure(
    'Gaps',
    (row) => row.gaps,
    (row) => (row.gaps > 0 ? `${count(row.gaps)}, ${bytes(row.gap_bytes)}` : '0'),
  ),
  figure('Sessions', (row) => row.sessions),
  figure('Events', (row) => row.events),
  figure(
    'Files',
    (row) => row.sources,
    (row) => count(row.sources) + (row.missing_sources > 0 ? `, ${row.missing_sources} gone` : ''),
  ),
  figure('Secrets out', (row) => Object.values(row.redactions).reduce((sum, n) => sum + n, 0)),
  { title: 'Last read in', cell: (row) => ago(row.last_ingested_at), isNumber: true },
  { title: 'Last active', cell: (row) => ago(row.last_active_at), isNumber: true },
]

/** Every agent in one line, so that they can be compared. */
function Flavors({ flavors }: { flavors: readonly FlavorCoverage[] }): JSX.Element {
  const bytesRead = flavors.reduce((sum, one) => sum + one.read_bytes, 0)
  const secrets = summed(flavors.map((one) => one.redactions))
  return (
    <Card
      title="What was read"
      aside={
        <span class="muted">
          {bytes(bytesRead)} of {plural(flavors.length, 'agent')}
        </span>
      }
    >
      <Table caption="What was read, by agent" rows={flavors} columns={COLUMNS} />
      {secrets.length > 0 && <p class="muted">Secrets taken out: {told(secrets)}</p>}
      {flavors
        .filter((one) => one.unknown_records.length > 0)
        .map((one) => (
          <p class="muted">
            Records of {one.flavor} that nobody described:{' '}
            {told(one.unknown_records.map((record) => [record.name, record.count]))}
          </p>
        ))}
    </Card>
  )
}
