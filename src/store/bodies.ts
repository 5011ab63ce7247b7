// Bodies of events for those who show them. Each is held against the hash it is stored under, so that damage is never taken
// for what an agent said; those that should be in the cache and cannot be read are counted.
import { type Body, rawOf, readBody } from '../event/body.ts'
import { crypto } from '../files/builtin.ts'
import type { Reader } from './reader/index.ts'

export class Bodies {
  readonly #handle: Pick<Reader, 'payload'>
  /** The references of those that cannot be read. */
  readonly unread = new Set<string>()

  constructor(handle: Pick<Reader, 'payload'>) {
    this.#handle = handle
  }

  /** As it is stored, redacted; undefined where there is none, or it cannot be read. */
  text(ref: string | null): string | undefined {
    if (ref === null) return undefined
    const body = this.#handle.payload(ref)
    if (body !== undefined && isWhole(body, ref)) return body
    this.unread.add(ref)
    return undefined
  }

  /** The native record in it. */
  value(ref: string | null): unknown {
    const body = this.text(ref)
    return body === undefined ? undefined : rawOf(body)
  }

  /** The same with all that its adapter told. */
  body(ref: string | null): Body | undefined {
    const body = this.text(ref)
    return body === undefined ? undefined : readBody(body)
  }
}

const BY_HASH = 'blob://'

/** What is not in a segment has no hash: decisions are rows. */
const isWhole = (body: string, ref: string): boolean =>
  !ref.startsWith(BY_HASH) || crypto().hash('sha256', body).startsWith(ref.slice(BY_HASH.length))
