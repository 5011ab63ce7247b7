// Facets with counts: a click narrows to a value, one more adds another value, a second click takes it away again.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { BriefPage, Facet } from '../../../query/narrow.ts'
import { count } from '../format.ts'
import { outcomeWord } from '../parts.tsx'
import { paramValues, withParams } from '../router.ts'

const NAMES: Record<Facet, string> = {
  starred: 'Starred',
  tag: 'Tag',
  flavor: 'Agent',
  repo: 'Repository',
  domain: 'Domain',
  model: 'Model',
  outcome: 'Outcome',
  has_error: 'Had errors',
  has_commit: 'Made a commit',
  evicted: 'Raw evicted',
}
const SHOWN = 8

/** What has one value everywhere narrows nothing. */
export const telling = (facets: BriefPage['facets']): Facet[] =>
  (Object.keys(NAMES) as Facet[]).filter(
    (name) => facets[name].length > (name === 'tag' ? 0 : 1) || paramValues(name).length > 0,
  )

/** Beside a list; where there is no room beside it, behind a button above. */
export function FacetSide(props: {
  facets: BriefPage['facets'] | undefined
  label: string
  isHidden: boolean
}): JSX.Element {
  const [isOpen, setOpen] = useState(false)
  const names = props.facets ? telling(props.facets) : []
  const chosen = names.reduce((sum, name) => sum + paramValues(name).length, 0)
  return (
    <aside class={`facets ${isOpen ? 'open' : ''}`} aria-label={props.label} hidden={props.isHidden}>
      <button type="button" class="quiet narrow-only" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Narrow by agent, repository, model…{chosen > 0 && ` (${chosen} chosen)`}
      </button>
      {names.map((name) => (
        <FacetGroup name={name} values={props.facets?.[name] ?? []} />
      ))}
    </aside>
  )
}

type Value = { value: string; count: number }

function FacetGroup({ name, values }: { name: Facet; values: Value[] }): JSX.Element {
  const chosen = paramValues(name)
  // What was chosen stays in sight, also where nothing is left of it.
  const gone = chosen.filter((value) => !values.some((one) => one.value === value))
  const all = [...gone.map((value) => ({ value, count: 0 })), ...values]
  const rest = all.slice(SHOWN)
  const shown = (one: Value): JSX.Element => <FacetValue name={name} chosen={chosen} {...one} />
  return (
    <section>
      <h2>
        {NAMES[name]}
        {chosen.length > 0 && (
          <a class="facet-any" href={withParams({ [name]: undefined })}>
            any
          </a>
        )}
      </h2>
      <ul>{all.slice(0, SHOWN).map(shown)}</ul>
      {rest.length > 0 && (
        <details open={rest.some((one) => chosen.includes(one.value))}>
          <summary>{rest.length} more</summary>
          <ul>{rest.map(shown)}</ul>
        </details>
      )}
    </section>
  )
}

function FacetValue(props: Value & { name: Facet; chosen: string[] }): JSX.Element {
  const { name, value, chosen } = props
  const isChosen = chosen.includes(value)
  const next = isChosen ? chosen.filter((one) => one !== value) : [...chosen, value]
  return (
    <li>
      <a
        href={withParams({ [name]: next.length === 0 ? undefined : next })}
        aria-current={isChosen ? 'true' : undefined}
        class={isChosen ? 'chosen' : ''}
      >
        <span class="facet-value">
          {isChosen && <span aria-hidden="true">✓ </span>}
          {(name === 'outcome' ? outcomeWord(value) : value) || 'unknown'}
        </span>
        <span class="facet-count">{count(props.count)}</span>
      </a>
    </li>
  )
}
