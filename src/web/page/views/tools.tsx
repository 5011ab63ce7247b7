// What tools were called, and how often that failed.
import type { JSX } from 'preact'
import type { ToolRow } from '../../../query/tools.ts'
import { timezone, useAnswer } from '../api.ts'
import { count, share } from '../format.ts'
import { Answered, Card, Empty, Table } from '../parts.tsx'
import { param, sessionPath, to } from '../router.ts'
import { redacted } from '../text/plain.tsx'
import { Chosen, SPANS } from './sessions.tsx'

export function ToolsView(): JSX.Element {
  const query = new URLSearchParams({ timezone })
  for (const name of ['since', 'until', 'flavor', 'repo', 'domain', 'model']) {
    const value = param(name)
    if (value !== undefined) query.set(name, value)
  }
  const answer = useAnswer<{ tools: ToolRow[] }>(`tools?${query}`)
  return (
    <>
      <div class="view-head">
        <h1>Tools</h1>
        <p class="muted">What agents called, sub-agents included, and what came back as an error.</p>
        <Chosen name="since" label="when" choices={SPANS} />
      </div>
      <Answered answer={answer}>
        {({ tools }) =>
          tools.length === 0 ? (
            <Empty title="No tool was called in this span" />
          ) : (
            <Card title={`${count(tools.length)} tools`}>
              <ToolTable tools={tools} />
            </Card>
          )
        }
      </Answered>
    </>
  )
}

function ToolTable({ tools }: { tools: ToolRow[] }): JSX.Element {
  return (
    <Table
      caption="Tools"
      columns={[
        {
          title: 'Tool',
          cell: ({ tool }) => (
            <a class="clip-line" href={to('/sessions', { tool })} title={tool}>
              {tool}
            </a>
          ),
          value: ({ tool }) => tool,
        },
        { title: 'Calls', cell: ({ calls }) => count(calls), isNumber: true, value: ({ calls }) => calls },
        {
          title: 'Sessions',
          cell: ({ sessions }) => count(sessions),
          isNumber: true,
          value: ({ sessions }) => sessions,
        },
        {
          title: 'Errors',
          cell: ({ errors }) => (errors > 0 ? count(errors) : ''),
          isNumber: true,
          value: ({ errors }) => errors,
        },
        {
          title: 'Failing',
          cell: ({ error_rate: rate }) => (rate ? share(rate) : ''),
          isNumber: true,
          value: ({ error_rate: rate }) => rate ?? 0,
        },
        {
          title: 'Most often with',
          isRest: true,
          cell: ({ worst }) =>
            worst && (
              <a
                class="clip-line"
                href={sessionPath(worst.session_uid, worst.seq === null ? {} : { seq: String(worst.seq) })}
              >
                {redacted(worst.sample)}
              </a>
            ),
        },
      ]}
      rows={tools}
    />
  )
}
