// Code mode: the model's call is a script, and the tools it uses are functions in it. A script is read, never run: what
// it does is certain only where it names a tool itself, and what it gives to that tool is written out.

export interface Script {
  /** The tools that are named in it, each as often as it is. */
  tools: string[]
  /** What the only one of them is given; undefined where that has to be computed. */
  given?: unknown
}

const TOOL = /\btools\s*\.\s*(\w+)\s*(\(?)/g
/** Which one is then named by something else. */
const COMPUTED = /\btools\s*\[|=\s*tools\b(?!\s*\.)/

export function readScript(source: string): Script {
  const named = [...source.matchAll(TOOL)]
  const script: Script = { tools: named.map((found) => found[1] ?? '') }
  const [only] = named
  if (only && named.length === 1 && only[2] === '(' && !COMPUTED.test(source)) {
    const literal = new Literals(source, only.index + only[0].length).argument()
    if (literal !== undefined) script.given = literal
  }
  return script
}

const ESCAPES: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', v: '\v', 0: '\0' }
const MAX_DEPTH = 8

/** Not a literal, or more than one. */
const NONE = Symbol('none')

/** Reads values that are written out: texts, numbers, lists and objects of them. */
class Literals {
  readonly #source: string
  #at: number

  constructor(source: string, at: number) {
    this.#source = source
    this.#at = at
  }

  /** The only argument of a call; undefined for anything that is more than a literal. */
  argument(): unknown {
    const value = this.#value(MAX_DEPTH)
    this.#skip(',')
    return value !== NONE && this.#skip(')') ? value : undefined
  }

  #value(depth: number): unknown {
    const first = this.#next()
    if (depth === 0) return NONE
    if (first === '"' || first === "'" || first === '`') return this.#text(first)
    if (first === '{') return this.#object(depth)
    if (first === '[') return this.#list(depth)
    const word = this.#match(/-?(?:0|[1-9]\d*)(?:\.\d+)?|true|false|null/y)
    return word === undefined ? NONE : (JSON.parse(word) as unknown)
  }

  #object(depth: number): unknown {
    const entries: [string, unknown][] = []
    this.#at++
    while (!this.#skip('}')) {
      const first = this.#next()
      const name = first === '"' || first === "'" ? this.#text(first) : this.#match(/[A-Za-z_$][\w$]*/y)
      if (typeof name !== 'string' || !this.#skip(':')) return NONE
      const value = this.#value(depth - 1)
      if (value === NONE || (!this.#skip(',') && this.#next() !== '}')) return NONE
      entries.push([name, value])
    }
    return Object.fromEntries(entries)
  }

  #list(depth: number): unknown {
    const values: unknown[] = []
    this.#at++
    while (!this.#skip(']')) {
      const value = this.#value(depth - 1)
      if (value === NONE || (!this.#skip(',') && this.#next() !== ']')) return NONE
      values.push(value)
    }
    return values
  }

  #text(quote: string): string | typeof NONE {
    let text = ''
    for (this.#at++; this.#at < this.#source.length; this.#at++) {
      const char = this.#source[this.#at] as string
      if (char === quote) {
        this.#at++
        return text
      }
      if (quote === '`' && char === '$' && this.#source[this.#at + 1] === '{') return NONE
      text += char === '\\' ? this.#escaped() : char
    }
    return NONE
  }

  /** The character an escape stands for; ends on its last one. */
  #escaped(): string {
    const char = this.#source[++this.#at] ?? ''
    // A line goes on in the next.
    if (char === '\n') return ''
    const code = /x([\da-f]{2})|u([\da-f]{4})|u\{(10[\da-f]{4}|[\da-f]{1,5})\}/iy
    code.lastIndex = this.#at
    const found = code.exec(this.#source)
    if (!found) return ESCAPES[char] ?? char
    this.#at += found[0].length - 1
    return String.fromCodePoint(Number.parseInt(found[1] ?? found[2] ?? found[3] ?? '', 16))
  }

  /** The next character that is no space. */
  #next(): string | undefined {
    while (/\s/.test(this.#source[this.#at] ?? '')) this.#at++
    return this.#source[this.#at]
  }

  #skip(char: string): boolean {
    if (this.#next() !== char) return false
    this.#at++
    return true
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const word = pattern.exec(this.#source)?.[0]
    this.#at += word?.length ?? 0
    return word
  }
}
