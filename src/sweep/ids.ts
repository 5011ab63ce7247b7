// The hashes of events, packed as ID_LAYOUT says. Gathered as text and bytes without a buffer for each: that would cost
// more than the hash itself.
import { hash } from 'node:crypto'
import type { EventItem } from '../adapters/adapter.ts'
import { sessionUid } from '../model.ts'
import { ID_BYTES, ID_LAYOUT, type PreparedEvent } from '../store/batch.ts'
import { Bytes } from '../store/bytes.ts'

const UUID_KEY = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i
const CAPACITY = 2 << 10
const CALL_BYTES = ID_LAYOUT.call[1] - ID_LAYOUT.call[0]
const callHash = (callId: string): string => hash('sha1', callId, 'binary').slice(0, CALL_BYTES)

/** What the hash of a parent, if there is one, is that of. */
export function linkOf({ parentKey, parentCall }: EventItem): PreparedEvent['link'] {
  if (typeof parentKey === 'string' || parentCall !== undefined) return 'key'
  return parentKey === undefined ? 'before' : 'root'
}

export class Ids {
  readonly #flavor: string
  readonly #bytes = new Bytes(CAPACITY)
  #lastName = ''
  #lastHash = ''

  constructor(flavor: string) {
    this.#flavor = flavor
  }

  add({ session, key, parentKey, parentCall, callId }: EventItem, payload: Uint8Array): void {
    const bytes = this.#bytes.reserve(ID_BYTES)
    const at = this.#bytes.advance(ID_BYTES)
    bytes.fill(0, at, at + ID_BYTES)
    const put = (id: string, [from, to]: readonly [number, number]): void => {
      bytes.write(id, at + from, to - from, 'latin1')
    }
    if (typeof parentKey === 'string') put(this.#key(session, parentKey), ID_LAYOUT.parentKey)
    else if (parentCall !== undefined) put(callHash(parentCall), ID_LAYOUT.parentKey)
    put(this.#key(session, key), ID_LAYOUT.key)
    put(hash('sha256', payload, 'binary'), ID_LAYOUT.payload)
    if (callId !== undefined) put(callHash(callId), ID_LAYOUT.call)
  }

  /** The hash of an event's key alone. */
  key(session: string, key: string): Uint8Array {
    const [from, to] = ID_LAYOUT.key
    return Uint8Array.from(Buffer.from(this.#key(session, key), 'latin1').subarray(0, to - from))
  }

  /** The hash of a call's id, or of a name that stands for one. */
  call(id: string): Uint8Array {
    return Uint8Array.from(Buffer.from(callHash(id), 'latin1'))
  }

  take(): Uint8Array {
    return this.#bytes.take(CAPACITY)
  }

  /** A uuid names the same event everywhere, also in a fork's copy; any other key only within its session. */
  #key(session: string, key: string): string {
    const scope = UUID_KEY.test(key) ? this.#flavor : sessionUid(this.#flavor, session)
    const name = `${scope}\0${key}`
    // An event is most often the parent of the next one.
    if (name !== this.#lastName) {
      this.#lastName = name
      this.#lastHash = hash('sha1', name, 'binary')
    }
    return this.#lastHash
  }
}
