// What a prompt holds of a terminal: lines that programs printed are not the words of whoever pasted them.

const PRINTED =
  /^(?:test \S+ \.\.\. |error(?:\[\w+\])?:|warning:|Traceback \(most|thread '|---- |\s*at \S+ \(|\$ |[>❯➜%] |npm ERR!|FAIL(?:ED)?\b|[▐▝▛▜▌█╭╰│┌└━─═⎿✶⏸]|● \w{1,40}\(|\[?\d{4}-\d\d-\d\d[T ]\d\d:|\w+@[\w.-]+[:~ ]|(?:= )?(?:note|help): |--> |\d{1,6} \||\| |(?:Compiling|Finished|Checking|Downloaded|Running) \S+ v?[\d.`(])/u

/** Whether a program printed this line, by the way it begins. */
export const isPrinted = (line: string): boolean => PRINTED.test(line)

/** The lines of a text; some terminals end one with the carriage return alone. */
export const linesIn = (text: string): string[] => text.split(/\r\n?|\n/)

/** A prompt without what was printed: what stands in fences, and lines of a terminal. Behind a paste that comes first, only what follows its last such line. */
export function withoutPasted(prompt: string): string {
  const lines = linesIn(prompt)
  const printed = (line: string): boolean => isPrinted(line.trim())
  const first = lines.find((line) => line.trim() !== '')
  if (first !== undefined && printed(first)) return lines.slice(lines.findLastIndex(printed) + 1).join('\n')
  let isFenced = false
  return lines
    .filter((line) => {
      if (/^\s{0,9}(?:```|~~~)/.test(line)) isFenced = !isFenced
      return !(isFenced || printed(line))
    })
    .join('\n')
}
