// Asks the server, keeps the last answer on screen while the next one comes, and asks again when something changed.
import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'

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

export interface Answer<T> {
  data: T | undefined
  problem: Problem | undefined
  isLoading: boolean
}

/** Undefined asks nothing. */
export function useAnswer<T>(path: string | undefined): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T> & { path?: string }>({
    data: undefined,
    problem: undefined,
    isLoading: true,
  })
  const tick = changes.value
  const last = useRef(path)
  useEffect(() => {
    if (path === undefined) return
    const abort = new AbortController()
    // Another question keeps the old answer on screen only within the same view.
    if (last.current?.split('?')[0] !== path.split('?')[0])
      setAnswer({ data: undefined, problem: undefined, isLoading: true })
    last.current = path
    ask<T>(path, { signal: abort.signal }).then(
      (data) => setAnswer({ data, problem: undefined, isLoading: false }),
      (problem: Problem) => {
        if (abort.signal.aborted) return
        setAnswer((old) => ({
          data: problem.code === 'OFFLINE' || problem.code === 'SIGNED_OUT' ? old.data : undefined,
          problem,
          isLoading: false,
        }))
      },
    )
    return () => abort.abort()
  }, [path, tick])
  return answer
}

/** The zone days are counted in. */
export const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone
