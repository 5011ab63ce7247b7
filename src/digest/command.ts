// A command line taken apart: which programs it runs, and what each was given. Enough of every shell's grammar (POSIX shells,
// PowerShell, cmd) to know one program from the next; what cannot be told apart stays one word.

export interface Part {
  /** In small letters, without its folder and ending; what only starts another program (`sudo`, `bash -c`, `uv run`) is passed over. */
  program: string
  args: string[]
  /** It is given what the one before printed. */
  isPiped: boolean
}

const LONGEST = 4000
const MAX_PARTS = 24
const MAX_DEPTH = 3

/** The programs of a command line, in order, without those that only go somewhere or set something. */
export function partsOf(command: string): readonly Part[] {
  const known = lately.get(command)
  if (known) return known
  const parts = readParts(command.slice(0, LONGEST), 0)
  if (lately.size >= MAX_LATELY) lately.clear()
  lately.set(command, parts)
  return parts
}

/** Several questions are asked of a command, one after the other. */
const lately = new Map<string, readonly Part[]>()
const MAX_LATELY = 32

function readParts(command: string, depth: number): Part[] {
  const parts: Part[] = []
  for (const { words, isPiped } of split(withoutDocuments(command))) {
    if (parts.length >= MAX_PARTS) break
    const own = bare(words)
    const inner = depth < MAX_DEPTH ? shellText(own) : undefined
    if (inner !== undefined) {
      parts.push(...readParts(inner, depth + 1))
      continue
    }
    const [first, ...args] = own
    if (first === undefined) continue
    const program = nameOf(first)
    if (!GOES.has(program)) parts.push({ program, args, isPiped })
  }
  return parts.slice(0, MAX_PARTS)
}

const GOES = new Set(
  'cd pushd popd set set-location export source . then do done fi for function case esac in continue break return exit local declare'.split(
    ' ',
  ),
)

/** Without folder and ending. */
export const nameOf = (program: string): string =>
  (program.split(/[\\/]/).at(-1) ?? program).replace(/\.(?:exe|cmd|bat|ps1)$/i, '').toLowerCase()

const DOCUMENT = /<<-?[ \t]{0,3}['"]?(\w{1,40})['"]?/

/** What stands in `<<EOF` up to its end, or in PowerShell between `@'` and `'@`, is given to a program, and is no command. */
function withoutDocuments(command: string): string {
  if (!command.includes('\n')) return command
  const kept: string[] = []
  let end: string | undefined
  for (const line of command.split('\n')) {
    if (end === undefined) {
      const quote = /@['"]$/.exec(line.slice(-40).trimEnd())?.[0]
      end = quote === undefined ? DOCUMENT.exec(line)?.[1] : `${quote[1]}@`
      kept.push(
        quote === undefined ? line.replace(DOCUMENT, '') : `${line.slice(0, line.lastIndexOf('@'))}""`,
      )
    } else if (line.trim() === end) end = undefined
    else if (end.endsWith('@') && line.startsWith(end)) {
      kept.push(line.slice(end.length))
      end = undefined
    }
  }
  return kept.join('\n')
}

interface Words {
  words: string[]
  isPiped: boolean
}

/** Letters that mean nothing but themselves. */
const PLAIN = /[^\s'"\\;|&$)]+/y

/** Where a word ends, where a program ends, and what is quoted. */
function split(command: string): Words[] {
  const all: Words[] = []
  let now: Words = { words: [], isPiped: false }
  let word: string | undefined
  const endWord = (): void => {
    if (word !== undefined && !REDIRECTION.test(word)) now.words.push(word)
    word = undefined
  }
  const end = (isPiped: boolean): void => {
    endWord()
    if (now.words.length > 0) all.push(now)
    now = { words: [], isPiped }
  }
  for (let at = 0; at < command.length; at++) {
    PLAIN.lastIndex = at
    if (PLAIN.test(command)) {
      word = (word ?? '') + command.slice(at, PLAIN.lastIndex)
      at = PLAIN.lastIndex - 1
      continue
    }
    const one = command[at] as string
    if (one === "'" || one === '"') {
      const close = closing(command, at, one)
      word = (word ?? '') + command.slice(at + 1, close)
      at = close
    } else if (one === '\\' && /[\s'"\\|;&]/.test(command[at + 1] ?? 'x')) {
      at++
      if (command[at] !== '\n') word = (word ?? '') + (command[at] ?? '')
    } else if (one === '\n' || one === ';') end(false)
    else if (one === '|') {
      const isOr = command[at + 1] === '|'
      if (isOr) at++
      end(!isOr)
    } else if (one === '&' && command[at + 1] === '&') {
      at++
      end(false)
    } else if (/\s/.test(one)) endWord()
    else if (one === '$' && command[at + 1] === '(') {
      const close = closing(command, at + 1, ')')
      word = (word ?? '') + command.slice(at, close + 1)
      at = close
    } else if (one !== ')' || word?.includes('(')) word = (word ?? '') + one
  }
  end(false)
  return all
}

/** Where what begins here ends; the last letter where it never does. */
function closing(command: string, from: number, mark: string): number {
  for (let at = from + 1; at < command.length; at++) {
    if (command[at] === '\\' && mark === '"') at++
    else if (command[at] === mark) return at
  }
  return command.length
}

const REDIRECTION = /^(?:\d|&)?[<>]/
const SETTING = /^\$?[\w:]+=/
/** Each begins another program; some are given a word of their own first. */
const BEFORE = new Set([
  'sudo',
  'time',
  'env',
  'nice',
  'nohup',
  'exec',
  'if',
  'while',
  'until',
  '!',
  '(',
  '{',
  '&',
  'rtk',
  'npx',
  'bunx',
  'uvx',
  'pnpx',
  'then',
  'do',
  'else',
])
const RUNS = /^(?:uv|poetry|pipenv|pdm|rye|hatch|bundle|pnpm|yarn|bun)$/
const GIVEN = /^(?:timeout|gtimeout)$/

/** Without what stands before the program itself. */
function bare(words: readonly string[]): string[] {
  let rest = [...words]
  for (let count = 0; count < 12 && rest.length > 0; count++) {
    const first = rest[0] as string
    const name = nameOf(first)
    if (first.startsWith('(') && first.length > 1) rest = [first.replace(/^\(+/, ''), ...rest.slice(1)]
    // PowerShell puts what a program gives into a variable.
    else if (first.startsWith('$') && rest[1] === '=')
      rest = rest.length > 3 ? rest.slice(2) : ['$', ...rest.slice(2)]
    else if (first === '$') break
    else if (SETTING.test(first)) rest = rest.slice(1)
    else if (name === 'command' && !rest[1]?.startsWith('-')) rest = rest.slice(1)
    else if (BEFORE.has(name) && rest.length > 1) rest = withoutOptions(rest.slice(1))
    else if (GIVEN.test(name)) rest = withoutOptions(rest.slice(1)).slice(1)
    else if (name === 'wsl' && rest.includes('--')) rest = rest.slice(rest.indexOf('--') + 1)
    else if (RUNS.test(name) && (rest[1] === 'run' || rest[1] === 'exec') && isProgram(rest, name))
      rest = withoutOptions(rest.slice(2))
    else if (/^(?:python[\d.]*|py)$/.test(name) && rest[1] === '-m' && rest.length > 2) rest = rest.slice(2)
    else break
  }
  return rest
}

/** `bun run build` runs a script of the project by its name; `uv run pytest` a program. */
const isProgram = (words: readonly string[], name: string): boolean =>
  words.length > 2 && (words[1] === 'exec' || !/^(?:pnpm|yarn|bun)$/.test(name))

function withoutOptions(words: readonly string[]): string[] {
  const from = words.findIndex((word) => !word.startsWith('-'))
  return from === -1 ? [...words] : words.slice(from)
}

/** What a shell is told to run. */
function shellText(words: readonly string[]): string | undefined {
  const name = nameOf(words[0] ?? '')
  if (/^(?:ba|z|da|k|fi)?sh$/.test(name)) {
    const at = words.findIndex((word) => /^-\w*c$/.test(word))
    return at === -1 ? undefined : words[at + 1]
  }
  if (/^(?:powershell|pwsh)$/.test(name)) {
    const at = words.findIndex((word) => /^-c(?:ommand)?$/i.test(word))
    return at === -1 ? undefined : words.slice(at + 1).join(' ')
  }
  return name === 'cmd' && /^\/[ck]$/i.test(words[1] ?? '') ? words.slice(2).join(' ') : undefined
}
