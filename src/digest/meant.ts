// Whether a check is run to see it fail: a new test before what it tests is there, or with that taken away again. Only where the
// agent says so when it runs it, or puts its own work aside for it.

// A name may begin with `Fail`.
const MEANT =
  /\b(?:[Cc]onfirm|[Vv]erify|[Cc]heck that|[Pp]rove|[Ss]how|[Dd]emonstrate|[Ee]nsure|[Mm]ake sure|[Ww]atch|[Ss]ee|[Ee]xpect(?:ed|ing)?|[Ss]hould|[Mm]ust)\b(?:(?!\b(?:why|how|which|what|whether|if|still|longer|any\w*|not|no|nothing|none|never)\b|n['’]t\b)[^.!?\n]){0,60}?\bfails?\b(?!…)/
const PUTS_ASIDE = /\bgit stash\b(?! (?:pop|list|drop|show|apply))/

/** The work was put aside: what runs then runs on what was there before. */
export const putsAside = (command: string): boolean => PUTS_ASIDE.test(command)

/** A file is copied away before the run, and back behind it. */
function putsBack(command: string): boolean {
  const copies = new Set<string>()
  for (const [, from, to] of command.matchAll(COPY)) {
    if (copies.has(`${to} ${from}`)) return true
    copies.add(`${from} ${to}`)
  }
  return false
}

const COPY = /\b(?:cp|mv) ([^\s;&|]{1,200}) ([^\s;&|]{1,200})(?![^\s;&|])/g

/** `words`: what the agent calls the run, and what it said just before. */
export const isMeantToFail = (command: string, words: readonly string[]): boolean =>
  putsAside(command) || putsBack(command) || words.some((one) => MEANT.test(one))
