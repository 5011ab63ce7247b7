// Asks the server, and asks again when something changed. Loading, failed and answered are three states that nobody can mix up.
import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'

export interface Problem {
  code: string
  message: string
  hint?: string
  where?: string
}

/** Moves on with every change of the memory; what depends on it is asked again. */
export const changes = signal(0)
/** False while the server does not answer. */
export const isOnline = signal(true)
/** Set while the server answers but does not know this browser, as after a restart: what to do about it. */
export const signedOut = signal<string | undefined>(undefined)

const OFFLINE: Problem = {
  code: 'OFFLINE',
  message: 'the server does not answer',
  hint: 'start it again: recollect ui',
}

export async function ask<T>(path: string, options: RequestInit = {}): Promise<T> {
  let response: Response
  try {
    response = await fetch(`/api/${path}`, { credentials: 'same-origin', ...options })
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error
    isOnline.value = false
    throw OFFLINE
  }
  isOnline.value = true
  const body = (await response.json()) as T & { error?: Problem }
  if (response.status === 401) {
    signedOut.value = body.error?.hint ?? ''
    throw { ...OFFLINE, code: 'SIGNED_OUT', message: 'the server does not know this browser' }
  }
  // Let in again, by another tab: the tokens in this page are those of the old server.
  if (signedOut.value !== undefined) location.reload()
  if (!response.ok) throw body.error ?? { code: 'IO', message: `the server said ${response.status}` }
  return body
}

export async function change<T>(path: string, body: unknown): Promise<T> {
  const token = document.querySelector<HTMLMetaElement>('meta[name=recollect-token]')?.content ?? ''
  const answer = await ask<T>(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-recollect-token': token },
    body: JSON.stringify(body),
  })
  changes.value++
  return answer
}

type State<T> = { data: T } | { problem: Problem } | undefined

interface Pictures<T, R> {
  loading: () => R
  failed: (problem: Problem) => R
  answered: (data: T) => R
}

/** What came of a question. Nothing can be read out of it but by saying what is shown while it loads and when it failed. */
export class Answer<T> {
  readonly path: string
  readonly retry: () => void
  readonly #state: State<T>

  constructor(path: string, state: State<T>, retry: () => void) {
    this.path = path
    this.retry = retry
    this.#state = state
  }

  match<R>({ loading, failed, answered }: Pictures<T, R>): R {
    if (this.#state === undefined) return loading()
    return 'data' in this.#state ? answered(this.#state.data) : failed(this.#state.problem)
  }
}

/** Undefined asks nothing. An answer is never shown under another question than its own. */
export function useAnswer<T>(path: string | undefined): Answer<T> {
  const [known, setKnown] = useState<{ path: string; state: State<T> }>()
  const tick = changes.value
  useEffect(() => {
    if (path === undefined) return
    const abort = new AbortController()
    ask<T>(path, { signal: abort.signal }).then(
      (data) => setKnown({ path, state: { data } }),
      (problem: Problem) => {
        if (abort.signal.aborted) return
        // While the server is away what was read stays on screen; the page says so above.
        const isAway = problem.code === 'OFFLINE' || problem.code === 'SIGNED_OUT'
        setKnown((old) =>
          isAway && old?.path === path && old.state && 'data' in old.state
            ? old
            : { path, state: { problem } },
        )
      },
    )
    return () => abort.abort()
  }, [path, tick])
  // What failed here may have failed elsewhere, too: everything on screen is asked for again.
  const retry = (): void => {
    setKnown(undefined)
    changes.value++
  }
  return new Answer(path ?? '', known?.path === path ? known?.state : undefined, retry)
}

/** The zone days are counted in. */
export const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone
