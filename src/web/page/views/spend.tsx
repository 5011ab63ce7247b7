// How full the context was, and what each turn cost.
import type { JSX } from 'preact'
import type { Spend, SpentResponse, SpentTurn } from '../../../query/spend.ts'
import { useAnswer } from '../api.ts'
import { StackedBars } from '../charts/bars.tsx'
import { Area } from '../charts/lines.tsx'
import { count, short, time, usd, when } from '../format.ts'
import { Answered, Card, ChartWithTable, Empty, Table } from '../parts.tsx'
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
  // One after the other, not by the clock: the hours somebody was away say nothing about the context.
  const marks = spend.compactions
    .filter((one) => one.ts !== null)
    .map((one) => ({
      at: Math.max(0, own.filter((response) => (response.ts as string) < (one.ts as string)).length - 0.5),
      name: `compacted #${one.seq}`,
    }))
  return (
    <Card
      title="Context"
      aside={
        <span class="muted">tokens given to the model, response by response; darker: from its cache</span>
      }
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
          points={own.map((one, i) => ({
            at: i,
            value: one.context_tokens,
            part: one.cache_read_tokens,
            title: `${time(one.ts)}: ${count(one.context_tokens)} tokens, ${count(one.cache_read_tokens)} from cache`,
          }))}
          marks={marks}
          format={short}
          formatAt={(at) => when(own[at]?.ts ?? null)}
          name="Tokens given to the model, response by response"
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

const SPENT = [
  ['Input', 'input_tokens'],
  ['Cache read', 'cache_read_tokens'],
  ['Cache write', 'cache_write_tokens'],
  ['Output', 'output_tokens'],
] as const

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
        labels={spend.turns.map(turnName)}
        series={[{ name: 'cost', values: spend.turns.map((turn) => Number(turn.cost_usd ?? 0)) }]}
        format={(value) => usd(String(value))}
        name="Cost per turn; the figures are in the table below"
      />
      <Table
        caption="Cost per turn"
        rows={spend.turns}
        limit={spend.turns.length}
        columns={[
          { title: 'Turn', cell: turnName },
          { title: 'Prompt', cell: (turn) => <span class="clip-line">{link(turn)}</span>, isRest: true },
          { title: 'Cost', cell: (turn) => usd(turn.cost_usd, turn.unpriced_responses), isNumber: true },
          { title: 'Responses', cell: (turn) => turn.responses, isNumber: true },
          ...SPENT.map(([title, of]) => ({
            title,
            cell: (turn: SpentTurn) => short(turn[of]),
            isNumber: true,
          })),
        ]}
      />
    </Card>
  )
}
