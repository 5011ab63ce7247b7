// How full the context was, and what each turn cost.
import type { JSX } from 'preact'
import type { Spend, SpentResponse, SpentTurn } from '../../../query/spend.ts'
import { useAnswer } from '../api.ts'
import { StackedBars } from '../charts/bars.tsx'
import { Area } from '../charts/lines.tsx'
import { count, short, time, usd } from '../format.ts'
import { Answered, Card, ChartWithTable, Empty } from '../parts.tsx'
import { sessionPath } from '../router.ts'
import { redacted } from '../text/plain.tsx'

const useSpend = (uid: string) => useAnswer<Spend>(`sessions/${encodeURIComponent(uid)}/spend`)

export function ContextTab({ uid }: { uid: string }): JSX.Element {
  return (
    <Answered answer={useSpend(uid)}>
      {(spend) => {
        const own = spend.responses.filter((one) => !one.is_sidechain && one.ts !== null)
        if (own.length === 0)
          return <Empty title="No response of a model with a time is known for this session" />
        return <ContextCard spend={spend} own={own} />
      }}
    </Answered>
  )
}

function ContextCard({ spend, own }: { spend: Spend; own: SpentResponse[] }): JSX.Element {
  const at = (ts: string | null): number => Date.parse(ts ?? '')
  const marks = spend.compactions
    .filter((one) => one.ts !== null)
    .map((one) => ({ at: at(one.ts), name: `compacted #${one.seq}` }))
  return (
    <Card
      title="Context"
      aside={<span class="muted">tokens given to the model; darker: from its cache</span>}
    >
      <ChartWithTable
        name="Tokens given to the model, response by response"
        columns={[
          { title: 'Time', cell: (row) => time(row.ts) },
          { title: 'Model', cell: (row) => row.model ?? 'unknown' },
          { title: 'Context', cell: (row) => count(row.context_tokens), isNumber: true },
          { title: 'From cache', cell: (row) => count(row.cache_read_tokens), isNumber: true },
          { title: 'Written to cache', cell: (row) => count(row.cache_write_tokens), isNumber: true },
          { title: 'Output', cell: (row) => count(row.output_tokens), isNumber: true },
        ]}
        rows={own}
      >
        <Area
          points={own.map((one) => ({
            at: at(one.ts),
            value: one.context_tokens,
            part: one.cache_read_tokens,
            title: `${time(one.ts)}: ${count(one.context_tokens)} tokens, ${count(one.cache_read_tokens)} from cache`,
          }))}
          marks={marks}
          format={short}
          formatAt={(when) => time(new Date(when).toISOString())}
          name="Tokens given to the model over time"
        />
      </ChartWithTable>
      {spend.compactions.length > 0 && (
        <p class="muted">
          Compacted at{' '}
          {spend.compactions.map((one, i) => (
            <>
              {i > 0 && ', '}
              <a href={sessionPath(spend.session_uid, { seq: String(one.seq), all: '1' })}>#{one.seq}</a>
            </>
          ))}
        </p>
      )}
    </Card>
  )
}

export function CostTab({ uid }: { uid: string }): JSX.Element {
  return (
    <Answered answer={useSpend(uid)}>
      {(spend) =>
        spend.turns.length === 0 ? (
          <Empty title="Nothing was spent in this session, or it is counted in another one" />
        ) : (
          <TurnsCard spend={spend} />
        )
      }
    </Answered>
  )
}

const turnName = (turn: SpentTurn): string => (turn.seq === 0 ? 'before' : `#${turn.seq}`)

function TurnsCard({ spend }: { spend: Spend }): JSX.Element {
  const link = (turn: SpentTurn): JSX.Element | string =>
    turn.seq === 0 ? (
      'before the first prompt'
    ) : (
      <a href={sessionPath(spend.session_uid, { seq: String(turn.seq) })}>{redacted(turn.prompt)}</a>
    )
  return (
    <Card title="Cost per turn" aside={<span class="muted">list prices on the day</span>}>
      <StackedBars
        labels={spend.turns.map((turn) => `turn ${turnName(turn)}`)}
        series={[{ name: 'cost', values: spend.turns.map((turn) => Number(turn.cost_usd ?? 0)) }]}
        format={(value) => usd(String(value))}
        name="Cost per turn; the figures are in the table below"
      />
      <TurnTable turns={spend.turns} link={link} />
    </Card>
  )
}

function TurnTable(props: {
  turns: SpentTurn[]
  link: (turn: SpentTurn) => JSX.Element | string
}): JSX.Element {
  return (
    <div class="table-scroll">
      <table>
        <caption class="visually-hidden">Cost per turn</caption>
        <thead>
          <tr>
            <th scope="col">Turn</th>
            <th scope="col">Prompt</th>
            {['Responses', 'Input', 'Cache read', 'Cache write', 'Output', 'Cost'].map((title) => (
              <th scope="col" class="number">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.turns.map((turn) => (
            <tr>
              <td>{turnName(turn)}</td>
              <td class="clip-cell">{props.link(turn)}</td>
              <td class="number">{turn.responses}</td>
              <td class="number">{short(turn.input_tokens)}</td>
              <td class="number">{short(turn.cache_read_tokens)}</td>
              <td class="number">{short(turn.cache_write_tokens)}</td>
              <td class="number">{short(turn.output_tokens)}</td>
              <td class="number">{usd(turn.cost_usd, turn.unpriced_responses)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
