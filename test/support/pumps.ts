// Texts that make an expression work hard: for each place where one may repeat something without end, what leads there and
// what is repeated, over and over, and an end that does not fit. An expression that is linear takes no more time over
// these than over any other text.
import { type AST, RegExpParser, visitRegExpAST } from '@eslint-community/regexpp'
import { workTime } from '../setup/pump.ts'

export interface Expression {
  source: string
  flags: string
}

/** Samples drawn per place that repeats, and the most that are kept of an expression. */
const DRAWS = 40
const MAX_UNITS = 64
const MAX_UNIT_LENGTH = 60

/** The parts that are to be repeated. The same expression always gives the same ones. */
export function unitsOf({ source, flags }: Expression): string[] {
  const pattern = new RegExpParser().parsePattern(source, 0, source.length, {
    unicode: flags.includes('u'),
    unicodeSets: flags.includes('v'),
  })
  const sampler = new Sampler(pattern)
  const units = new Set<string>()
  visitRegExpAST(pattern, {
    onQuantifierEnter(node) {
      if (node.max < 10) return
      for (let draw = 0; draw < DRAWS; draw++) {
        const repeated = sampler.of(node.element)
        const before = sampler.before(node)
        for (const unit of [repeated, before + repeated, before, repeated + sampler.after(node)])
          if (unit !== '' && unit.length <= MAX_UNIT_LENGTH) units.add(unit)
      }
    },
  })
  // Short ones repeat most often; of the others an even choice.
  const sorted = [...units].sort((a, b) => a.length - b.length || (a < b ? -1 : 1))
  const every = Math.max(1, sorted.length / MAX_UNITS)
  return sorted.filter((_, at) => Math.floor(at / every) !== Math.floor((at - 1) / every))
}

/** Draws texts that parts of a pattern match, from the letters of the pattern itself where it leaves a choice. */
class Sampler {
  readonly #letters: string[]
  #seed = 1

  constructor(pattern: AST.Pattern) {
    const letters = new Set<number>()
    visitRegExpAST(pattern, {
      onCharacterEnter({ value }) {
        letters.add(value)
      },
    })
    this.#letters = [...[...letters].map((value) => String.fromCodePoint(value)), 'a', '0', ' ', '\n', '/']
  }

  #next(below: number): number {
    this.#seed = (Math.imul(this.#seed, 1_103_515_245) + 12_345) >>> 0
    return (this.#seed >>> 8) % below
  }

  #pick<T>(from: readonly T[]): T {
    return from[this.#next(from.length)] as T
  }

  of(node: AST.Element | AST.Alternative | AST.QuantifiableElement): string {
    switch (node.type) {
      case 'Alternative':
        return node.elements.map((one) => this.of(one)).join('')
      case 'Group':
      case 'CapturingGroup':
        return this.of(this.#pick(node.alternatives))
      case 'Quantifier': {
        const count = node.min + this.#next(Math.min(node.max - node.min, 2) + 1)
        return Array.from({ length: Math.min(count, 40) }, () => this.of(node.element)).join('')
      }
      case 'Character':
        return String.fromCodePoint(node.value)
      case 'CharacterSet':
      case 'CharacterClass':
      case 'ExpressionCharacterClass':
        return this.#letterIn(node)
      default:
        return ''
    }
  }

  #letterIn(node: AST.Element): string {
    const set = new RegExp(`^${node.raw}$`, 'su')
    const fitting = this.#letters.filter((one) => set.test(one))
    if (fitting.length > 0) return this.#pick(fitting)
    for (let code = 33; code < 0x3000; code++)
      if (set.test(String.fromCodePoint(code))) return String.fromCodePoint(code)
    return ''
  }

  /** What has to be matched before a place is reached. */
  before(node: AST.Node): string {
    const { parent } = node
    if (!parent) return ''
    const own =
      parent.type === 'Alternative'
        ? parent.elements
            .slice(0, parent.elements.indexOf(node as AST.Element))
            .map((one) => this.of(one))
            .join('')
        : ''
    return this.before(parent) + own
  }

  /** What stands right behind it. */
  after(node: AST.Node): string {
    const { parent } = node
    if (parent?.type !== 'Alternative') return ''
    return parent.elements
      .slice(parent.elements.indexOf(node as AST.Element) + 1)
      .map((one) => this.of(one))
      .join('')
  }
}

/** Ends that rarely fit: nothing that expressions look for, and the end of a line. */
const ENDS = ['', '\u0001', '\n\u0001']

/** The text over which an expression takes more than linear time; undefined where none was found. */
export function superLinear(expression: Expression): string | undefined {
  for (const unit of unitsOf(expression))
    for (const end of ENDS) {
      if (timeOver(expression, unit, end, SHORT) < WORTH_A_LOOK_MS) continue
      const best = (length: number): number => leastTimeOver(expression, unit, end, length)
      const [short, long] = [best(SHORT), best(SHORT * 4)]
      if (long < 4 * WORTH_A_LOOK_MS || long < 8 * short) continue
      // What has a bound looks so until the text is longer than that.
      const longer = best(SHORT * 12)
      if (longer > 6 * long)
        return `${JSON.stringify(unit + end)}: ${SHORT * 4} letters ${long.toFixed(1)} ms, three times as many ${longer.toFixed(1)} ms`
    }
  return undefined
}

const SHORT = 4000
const WORTH_A_LOOK_MS = 0.4

const LARGE_MS = 100

/** The shortest of several tries, unless it takes so long that what else this process does makes no difference. */
function leastTimeOver(expression: Expression, unit: string, end: string, length: number): number {
  let least = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < 3; attempt++) {
    const took = timeOver(expression, unit, end, length)
    least = Math.min(least, took)
    if (took > LARGE_MS) break
  }
  return least
}

/** All matches in a text of so many letters, as `replace` and `matchAll` find them. */
function timeOver({ source, flags }: Expression, unit: string, end: string, length: number): number {
  const expression = new RegExp(source, flags.includes('g') || flags.includes('y') ? flags : `${flags}g`)
  const text = unit.repeat(Math.ceil(length / unit.length)) + end
  return workTime(() => text.replace(expression, ''))
}
