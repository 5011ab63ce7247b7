// Files that a command line writes with what the agent put into it: here-documents, `echo … >`, `sed -i`, `Set-Content`, a script on
// standard input. Output that is caught in a file, and what other programs make, is not the agent's edit. Read off the text alone:
// what cannot be told is left out.

/** Cheap, and true of few commands: with `>` one that prints writes, with `-i` one that replaces. */
const mayWrite = (command: string): boolean =>
  MAY_WRITE.test(command) ||
  (command.includes('>') && /\b(?:echo|printf)\b/.test(command)) ||
  (/\s-(?:-in-place|[np]{0,2}i)/.test(command) && /\b(?:sed|perl)\b/.test(command))
const MAY_WRITE =
  /<<|\btee\b|Set-Content|Add-Content|Out-File|(?:Write|Append)All|write_text|writeFile|\bopen\(|^\*\*\* Begin Patch/im
const MAX_COMMAND = 60_000
const MAX_FILES = 20

export function writesIn(command: string): string[] {
  if (!mayWrite(command)) return []
  const { lines, scripts } = withoutDocuments(innerOf(command.slice(0, MAX_COMMAND)))
  const commands = commandsIn(lines.join('\n'))
  const values = valuesIn(commands)
  const found = [
    ...commands.flatMap((one, at) => targetsOf(one, commands[at - 1], values)),
    ...scripts.flatMap(scriptTargets),
    ...[...command.matchAll(PATCHED)].map(([, path]) => path as string),
  ]
  return [...new Set(found.filter(isFile))].slice(0, MAX_FILES)
}

/** A patch, whoever is given it. */
const PATCHED = /^\*\*\* (?:Update|Add) File: (\S.{0,300})$/gm
const POWERSHELL = /^(?:powershell|pwsh)(?:\.exe)? (?:-[a-z]{1,20} (?:bypass )?){0,4}-c(?:ommand)? "/i

/** What PowerShell is told to run stands in quotes. */
function innerOf(command: string): string {
  const start = POWERSHELL.exec(command)?.[0].length
  const end = command.lastIndexOf('"')
  return start === undefined || end < start ? command : command.slice(start, end)
}

const INTERPRETER = /\b(?:python[\d.]{0,9}|py|node|deno|bun|ruby)\b/

const DOCUMENT = /<<-?\s{0,9}(['"]?)([A-Za-z_]\w{0,60})\1/

/** The lines of the command itself, and the documents in it that are scripts: a shell names what reads one before it, PowerShell behind it. */
function withoutDocuments(command: string): { lines: string[]; scripts: string[] } {
  const lines: string[] = []
  const scripts: string[] = []
  let open: { text: string[]; end: string; isScript: boolean; isQuoted: boolean } | undefined
  for (const line of command.split('\n')) {
    // What PowerShell quotes is passed over with the other quotes.
    if (!open || open.isQuoted) lines.push(line)
    if (open && (open.isQuoted ? line.startsWith(open.end) : line.trim() === open.end)) {
      if (open.isScript || (open.isQuoted && INTERPRETER.test(line))) scripts.push(open.text.join('\n'))
      open = undefined
    } else if (open) open.text.push(line)
    else {
      const quote = /@(['"])$/.exec(line.slice(-40).trimEnd())?.[1]
      const end = quote === undefined ? DOCUMENT.exec(line)?.[2] : `${quote}@`
      if (end !== undefined)
        open = { text: [], end, isScript: INTERPRETER.test(line), isQuoted: quote !== undefined }
    }
  }
  if (open?.isScript) scripts.push(open.text.join('\n'))
  return { lines, scripts }
}

interface Command {
  words: string[]
  /** What `>` and `>>` send its output to. */
  targets: string[]
  hasDocument: boolean
  /** Its output goes to the next one. */
  isPiped: boolean
}

const newCommand = (): Command => ({ words: [], targets: [], hasDocument: false, isPiped: false })

/** One pass over the letters: words, what is in quotes being one, and where output goes. Not a shell: what it cannot know stays as it is. */
function commandsIn(text: string): Command[] {
  const commands: Command[] = []
  let now = newCommand()
  let word = ''
  let goal: 'words' | 'target' | 'none' = 'words'
  const endWord = (): void => {
    if (word === '') return
    if (goal === 'target') now.targets.push(word)
    else if (goal === 'words') now.words.push(word)
    word = ''
    goal = 'words'
  }
  const endCommand = (): void => {
    endWord()
    if (now.words.length + now.targets.length > 0) commands.push(now)
    now = newCommand()
    goal = 'words'
  }
  for (let at = 0; at < text.length; at++) {
    const sign = text[at] as string
    if (sign === '@' && /['"]/.test(text[at + 1] ?? '')) {
      // A text of PowerShell ends at a line of its own.
      const end = text.indexOf(`\n${text[at + 1]}@`, at)
      at = end === -1 ? text.length : end + 2
      word ||= '@'
    } else if (sign === "'" || sign === '"') {
      const end = closing(text, at)
      word += text.slice(at + 1, end) || '\0'
      at = end
    } else if (sign === '>') {
      const isError = word === '2'
      if (/^\d$/.test(word)) word = ''
      endWord()
      goal = isError || text[at + 1] === '&' ? 'none' : 'target'
      if (text[at + 1] === '>') at++
      if (text[at + 1] === '&') at++
    } else if (sign === '<') {
      endWord()
      if (text[at + 1] === '<') now.hasDocument = true
      goal = 'none'
    } else if (sign === '\n' || sign === ';' || sign === '|' || sign === '&') {
      const isPipe = sign === '|' && text[at + 1] !== '|'
      now.isPiped = isPipe
      endCommand()
    } else if (/[\s(),]/.test(sign)) endWord()
    else word += sign
  }
  endCommand()
  return commands
}

function closing(text: string, from: number): number {
  const quote = text[from] as string
  let end = text.indexOf(quote, from + 1)
  while (quote === '"' && end !== -1 && text[end - 1] === '\\') end = text.indexOf(quote, end + 1)
  return end === -1 ? text.length : end
}

/** Paths are put in variables first. */
function valuesIn(commands: readonly Command[]): Map<string, string> {
  const values = new Map<string, string>()
  for (const { words } of commands)
    if (words.length === 3 && words[1] === '=' && words[0]?.startsWith('$'))
      values.set(words[0].toLowerCase(), words[2] as string)
    else {
      const [, name, value] = /^(\$\w{1,60})=(.+)$/.exec(words[0] ?? '') ?? []
      if (name !== undefined && value !== undefined) values.set(name.toLowerCase(), value)
    }
  return values
}

const WRITERS = /^(?:Set-Content|Add-Content|Out-File)$/i
const CMDLET = /^[A-Z][a-z]{2,20}-[A-Z]\w{2,40}$/
const PATH_OPTION = /^-(?:Path|LiteralPath|FilePath)$/i

function targetsOf(
  { words, targets, hasDocument }: Command,
  before: Command | undefined,
  values: ReadonlyMap<string, string>,
): string[] {
  const wordOf = (word: string | undefined): string[] =>
    word === undefined ? [] : word.startsWith('$') ? [values.get(word.toLowerCase()) ?? ''] : [word]
  const at = words.findIndex((word) => WRITERS.test(word))
  if (at !== -1) {
    const option = words.findIndex((word) => PATH_OPTION.test(word))
    return wordOf(option === -1 ? words[at + 1] : words[option + 1])
  }
  const file = words.findIndex((word) => /::(?:Write|Append)All(?:Text|Lines|Bytes)$/i.test(word))
  if (file !== -1) return wordOf(words.slice(file + 1).find((word) => !CMDLET.test(word)))
  const [program = '', ...rest] = words.filter((word) => !/^(?:sudo|then|do|\w+=\S*)$/.test(word))
  if (program === 'echo' || program === 'printf') return targets
  if (program === 'cat') return hasDocument ? targets : []
  if (program === 'tee')
    return hasDocument || (before?.isPiped && before.hasDocument)
      ? rest.filter((word) => !word.startsWith('-'))
      : []
  if (program === 'sed' || program === 'perl') return inPlace(rest)
  return []
}

/** The files stand last, behind the expression. */
function inPlace(words: readonly string[]): string[] {
  if (!words.some((word) => /^-(?:-in-place|[np]{0,2}i)/.test(word))) return []
  const [, ...files] = words.filter((word) => !word.startsWith('-') && word !== '\0')
  return files.filter((word) => /[./\\]/.test(word))
}

const TEXT = String.raw`[rfb]?(?:"([^"\n]{1,300})"|'([^'\n]{1,300})')`
const OPENED = new RegExp(String.raw`\bopen\(${TEXT}, {0,3}(?:mode=)?["'][wax]`, 'g')
const WRITTEN = new RegExp(
  String.raw`\b(?:Path\(${TEXT}\)\.write_(?:text|bytes)\(|writeFile(?:Sync)?\(${TEXT})`,
  'g',
)
const NAMED = new RegExp(String.raw`\b(\w{1,60}) {0,3}= {0,3}(?:(?:pathlib\.)?Path\()?${TEXT}`, 'g')
const BY_NAME =
  /\b(?:(\w{1,60})\.write_(?:text|bytes)\(|open\((\w{1,60}), {0,3}(?:mode=)?["'][wax]|writeFile(?:Sync)?\((\w{1,60}))/g

function scriptTargets(script: string): string[] {
  const texts = (found: RegExpMatchArray): string => found.slice(1).find((one) => one !== undefined) ?? ''
  const values = new Map([...script.matchAll(NAMED)].map((found) => [found[1], found[2] ?? found[3] ?? '']))
  return [
    ...[...script.matchAll(OPENED)].map(texts),
    ...[...script.matchAll(WRITTEN)].map(texts),
    ...[...script.matchAll(BY_NAME)].map((found) => values.get(texts(found)) ?? ''),
  ]
}

const ELSEWHERE =
  /^(?:\/dev\/|\/tmp\/|\/private\/tmp\/|\/var\/(?:tmp|folders)\/|\/proc\/)|[/\\](?:temp|tmp)[/\\]|(?:^|[/\\])\.git[/\\]/i

/** Not a device, a variable, a pattern, something temporary or the repository's own. */
const isFile = (path: string): boolean =>
  path.length > 0 &&
  path.length < 400 &&
  !/^[&-]|[$`*?{}<>|\0]|^%/.test(path) &&
  !ELSEWHERE.test(path) &&
  /[\w)]$/.test(path)
