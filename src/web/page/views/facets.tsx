// Facets with counts: a click narrows, a second click widens again.
import type { JSX } from 'preact'
import type { BriefPage, Facet } from '../../../query/narrow.ts'
import { count } from '../format.ts'
import { outcomeWord } from '../parts.tsx'
import { param, withParams } from '../router.ts'

const NAMES: Record<Facet, string> = {
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
  (Object.keys(NAMES) as Facet[]).filter((name) => facets[name].length > 1 || param(name) !== undefined)

export function Facets({ facets }: { facets: BriefPage['facets'] }): JSX.Element {
  return (
    <>
      {telling(facets).map((name) => (
        <FacetGroup name={name} values={facets[name]} />
      ))}
    </>
  )
}

function FacetGroup({
  name,
  values,
}: {
  name: Facet
  values: { value: string; count: number }[]
}): JSX.Element {
  const chosen = param(name)
  const top = values.slice(0, SHOWN)
  const rest = values.slice(SHOWN)
  return (
    <section>
      <h2>{NAMES[name]}</h2>
      <ul>
        {top.map((one) => (
          <FacetValue name={name} chosen={chosen} {...one} />
        ))}
      </ul>
      {rest.length > 0 && (
        <details open={rest.some((one) => one.value === chosen)}>
          <summary>{rest.length} more</summary>
          <ul>
            {rest.map((one) => (
              <FacetValue name={name} chosen={chosen} {...one} />
            ))}
          </ul>
        </details>
      )}
    </section>
  )
}

function FacetValue(props: {
  name: Facet
  chosen: string | undefined
  value: string
  count: number
}): JSX.Element {
  const isChosen = props.chosen === props.value
  return (
    <li>
      <a
        href={withParams({ [props.name]: isChosen ? undefined : props.value })}
        aria-current={isChosen ? 'true' : undefined}
        class={isChosen ? 'chosen' : ''}
      >
        <span class="facet-value">
          {isChosen && <span aria-hidden="true">✓ </span>}
          {(props.name === 'outcome' ? outcomeWord(props.value) : props.value) || 'unknown'}
        </span>
        <span class="facet-count">{count(props.count)}</span>
      </a>
    </li>
  )
}
