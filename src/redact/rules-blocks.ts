// Private keys, which stand on lines of their own: PEM and PGP blocks, PuTTY's files.
import type { Budget } from './budget.ts'
import { type Finding, MARKER } from './finding.ts'

const PEM_BEGIN =
  /^-----BEGIN[ A-Z0-9_-]{0,60}PRIVATE KEY(?: BLOCK)?-----|^-----BEGIN OpenVPN Static key V1-----/
const PEM_END = /-----END[ A-Za-z0-9_-]{0,60}-----/
// The lines may be numbered, quoted or those of a diff.
const PEM_BODY = /^(?:[A-Z][A-Za-z-]{2,20}: ?[^\n\\]{0,200}|[A-Za-z0-9+/=\s\\>|-])*/
const MAX_PEM = 40_000

/** At `-----BEGIN`: the block up to its end line, or as far as its body reaches when it was cut. */
export function privateKey(text: string, at: number, budget: Budget): Finding | undefined {
  const begin = PEM_BEGIN.exec(text.slice(at, at + 100))
  if (!begin) return undefined
  const from = at + begin[0].length
  const rest = text.slice(from, from + MAX_PEM)
  const close = PEM_END.exec(rest)
  const length = close ? close.index : (PEM_BODY.exec(rest)?.[0].length ?? 0)
  budget.left -= close ? 5 * length : rest.length + 25 * length
  const body = rest.slice(0, length)
  if (body.includes(MARKER) || body.replace(/\\[nr]|[^A-Za-z0-9+/=]/g, '').length < 24) return undefined
  return { start: from, end: from + length, rule: 'private-key' }
}

const PUTTY_LINES = /^: ?\d{1,4}((?:\\[rn]|\s){1,8})([A-Za-z0-9+/=\s\\]{40,20000})/
const PUTTY_END = /(?:\\[rn]|\s)Private(?=$|-)/

/** At the colon of `Private-Lines: 14`. */
export function puttyLines(text: string, at: number, budget: Budget): Finding | undefined {
  const match = PUTTY_LINES.exec(text.slice(at, at + 20_100))
  budget.left -= 2 * (match?.[0].length ?? 40)
  if (!match?.[2]) return undefined
  const start = at + match[0].length - match[2].length
  const stop = match[2].search(PUTTY_END)
  return { start, end: stop < 0 ? start + match[2].length : start + stop, rule: 'putty-key' }
}
