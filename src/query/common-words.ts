// Words of a question that say nothing of what is asked for, and the forms in which a word may stand in an answer.

const COMMON = new Set(
  (
    'a an the this that these those it its is are was were be been being am do does did done doing have has had having ' +
    'i me my we us our you your he him his she her they them their who whom whose what which when where why how ' +
    'and or but if then else than so as of in on at by for from to into onto with within without about over under again ' +
    'can could will would shall should may might must not no nor there here any some all each every both either neither ' +
    'one ones just only also too very much more most such same other another ever never once yet still even because ' +
    'during before after while until between through please tell ask asked asking show me find got get gets getting went going let lets ' +
    'make made makes making happen happens happened session sessions time times last recently thing things something'
  ).split(' '),
)

/** Whether a word is too common to say anything. Only plain words are: `--not` and `The.Thing` are meant. */
export const isCommon = (word: string): boolean =>
  COMMON.has(word.toLowerCase().replace(/[?!.,;:]{1,20}$/, ''))

/** Without the marks that end a sentence. */
export const plainWord = (word: string): string => word.replace(/^["'(]{1,20}|["'),;:!?]{1,20}$|\.$/g, '')

const ENDINGS = /(?:ings?|ed|es|s|e)$/

/**
 * A word with its plural, and the forms of a verb: what was asked of `exports` is answered with `exported`. Exact ones: a
 * beginning would find other words as well.
 */
export function formsOf(word: string): string[] {
  if (!/^[a-z]{3,}$/i.test(word)) return [word]
  const small = word.toLowerCase()
  const cut = small.length > 4 ? small.replace(ENDINGS, '') : small
  const root = cut.length < 3 ? small : cut.replace(/([b-df-hj-np-tv-z])\1$/, '$1')
  const doubled = root + (root.at(-1) ?? '')
  const forms = [
    small,
    ...[root, cut].flatMap((stem) => [stem, `${stem}e`, `${stem}s`, `${stem}es`, `${stem}ed`, `${stem}ing`]),
    `${doubled}ed`,
    `${doubled}ing`,
  ]
  return [...new Set(forms)]
}
