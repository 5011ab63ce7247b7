// What a tool's output says about its end. Codex never wrote an exit status as a field: five text forms are told apart.
import { isRecord, list, num, str } from '../kit/guards.ts'
import { cellName } from './background.ts'

export interface Output {
  /** The output with its wrapping parsed, for the payload. */
  value: unknown
  text: string
  /** The part after the header: what a summary is made of. */
  body: string
  /** What the tool itself gave, without anything that the client put around it. */
  said: string
  exitCode?: number
  durationMs?: number
  failed: boolean
  /** A person stopped or refused it. */
  stopped: boolean
  /** A person, or a rule, did not let it run. */
  refused: boolean
  /** The exit code that a script printed of the command it ran. */
  printedExit?: number
  /** Of a script: nothing of it goes on. */
  isOver?: boolean
  /** Name of the command that goes on. */
  session?: string
}

const FAILURE =
  /^(?:apply_patch verification failed|error: |execution error|failed (?:in sandbox|to )|unsupported (?:custom tool )?call|(?:exec_command|write_stdin|command) failed|Script (?:failed|error|terminated)|(?:Wall time: [^\n]*\nOutput:\n)?tool call error|err: "|patch rejected: |rejected by configuration|automatic approval review denied|`[\s\S]{0,4000}?` rejected: |collab (?:spawn|tool) failed)/i
const STOPPED =
  /^(?:Wall time: [^\n]*\n(?:Output:\n)?|err: ")?(?:aborted by user|aborted\b|(?:(?:exec )?command |patch )?rejected by user|user (?:rejected|denied|declined|cancelled)|request_\w+ was cancelled\b)/i
const REFUSED =
  /^(?:Wall time: [^\n]*\n(?:Output:\n)?|err: ")?(?:(?:(?:exec )?command |patch )?rejected by user|user (?:rejected|denied|declined|cancelled)|patch rejected: |rejected by configuration|automatic approval review denied|`[\s\S]{0,4000}?` rejected: |(?:exec_command|write_stdin|Script) failed[\s\S]{0,4000}?\bRejected\()/i
const HEADER = /^(?:Exit code: |Chunk ID: |Wall time: |Script \w+\n)/
const HEADER_LENGTH = 600

export function readOutput(output: unknown): Output {
  if (typeof output === 'string')
    return output.startsWith('{') ? fromJson(output) : fromScript(fromText(output, output), [])
  if (isRecord(output)) {
    const said = fromText(str(output['content']) ?? partsText(output['content']), output)
    return output['success'] === false ? { ...said, failed: true } : said
  }
  return fromScript(fromText(partsText(output), output), list(output))
}

/** Texts of a content list, joined; one text stays the same string. */
export function partsText(parts: unknown): string {
  const texts: string[] = []
  for (const part of list(parts)) {
    const text = isRecord(part) ? str(part['text']) : str(part)
    if (text !== undefined) texts.push(text)
  }
  return texts.length === 1 ? (texts[0] ?? '') : texts.join('\n')
}

/** `{"output":…,"metadata":{"exit_code":0,"duration_seconds":0.1}}` inside a string (`shell`, `apply_patch`, to 0.6x). */
function fromJson(output: string): Output {
  let value: unknown
  try {
    value = JSON.parse(output)
  } catch {
    return fromText(output, output)
  }
  const text = isRecord(value) ? str(value['output']) : undefined
  if (!isRecord(value) || text === undefined) return fromText(output, output)
  const metadata = isRecord(value['metadata']) ? value['metadata'] : {}
  return withStatus(
    fromText(text, value),
    num(metadata['exit_code']),
    inMilliseconds(num(metadata['duration_seconds'])),
  )
}

/** `Exit code: N …` (`shell_command`) and `Chunk ID: … Process exited with code N …` (`exec_command`), or plain text. */
function fromText(text: string, value: unknown): Output {
  const plain: Output = {
    value,
    text,
    body: text,
    said: text.replace(/^Total output lines: \d+\n+/, ''),
    failed: FAILURE.test(text),
    stopped: STOPPED.test(text),
    refused: REFUSED.test(text),
  }
  const head = text.slice(0, HEADER_LENGTH)
  const cell = RUNNING_SCRIPT.exec(head)
  if (cell) return { ...plain, said: text.slice(cell[0].length), session: cellName(cell[1]), isOver: false }
  if (!HEADER.test(head)) return fromSandbox(plain)
  const bodyAt = /^Output:\n?/m.exec(head)
  const header = bodyAt ? head.slice(0, bodyAt.index) : head
  const exit = /^(?:Exit code: |Process exited with code )(-?\d+)/m.exec(header)
  const wall = /^Wall time:? ([\d.]+) seconds/m.exec(header)
  const said = withStatus(plain, exit ? Number(exit[1]) : undefined, inMilliseconds(wall && Number(wall[1])))
  const session = /^Process running with session ID (\d+)/m.exec(header)?.[1]
  if (session !== undefined) said.session = session
  if (header.startsWith('Script ')) said.isOver = true
  if (!bodyAt) return { ...said, said: text.replace(/^Wall time:? [^\n]*\n/, '') }
  const body = text.slice(bodyAt.index + bodyAt[0].length)
  return { ...said, body, said: body }
}

const RUNNING_SCRIPT = /^Script running with cell ID (\S+)\n(?:Wall time:? [^\n]*\n)?(?:Output:\n?)?/
const SANDBOX = /^failed in sandbox(?: \S+ with (?:execution error|exit code:? -?\d+))?: ?/
const DENIED = /^sandbox denied exec error, exit code:? (-?\d+), stdout: ([\s\S]*), stderr: ([\s\S]*)$/

/** Older clients said before the output where a command had failed. */
function fromSandbox(plain: Output): Output {
  const sandboxed = /^failed in sandbox \S+ with (?:execution error: [^\n]*?)?exit code:? (-?\d+)/.exec(
    plain.text.slice(0, HEADER_LENGTH),
  )
  const told = withoutSandbox(plain)
  return sandboxed ? withStatus(told, Number(sandboxed[1]), undefined) : told
}

function withoutSandbox(plain: Output): Output {
  const head = SANDBOX.exec(plain.text)
  if (!head) return plain
  const said = plain.text.slice(head[0].length)
  const [, , stdout = '', stderr = ''] = DENIED.exec(said) ?? []
  return { ...plain, said: [stdout, stderr].filter(Boolean).join('\n') || said }
}

/** The head of a script's output is a part of its own, and what the script printed are the others. */
function fromScript(said: Output, parts: unknown[]): Output {
  if (said.isOver === undefined) return said
  const printed = parts.flatMap((part) => (isRecord(part) ? (str(part['text']) ?? []) : []))
  const [head = '', ...rest] = printed
  const isApart = /^Script [^\n]*\n(?:Wall time:? [^\n]*\n)?Output:\n?$/.test(head)
  const read = (isApart ? rest : [said.said]).map(unprinted)
  const codes = read.flatMap(({ exitCode }) => exitCode ?? [])
  const told: Output = { ...said, said: read.map(({ text }) => text).join('\n') }
  // Of several commands none tells how the script fared.
  if (codes.length === 1 && read.length === 1 && codes[0] !== undefined) told.printedExit = codes[0]
  return told
}

const PRINTED = new Set([
  'chunk_id',
  'exit_code',
  'original_token_count',
  'output',
  'session_id',
  'wall_time_seconds',
])

/** Scripts print what a command gave them as JSON. */
function unprinted(text: string): { text: string; exitCode?: number } {
  if (!text.startsWith('{')) return { text }
  try {
    const value: unknown = JSON.parse(text)
    const output = isRecord(value) ? str(value['output']) : undefined
    if (!isRecord(value) || output === undefined) return { text }
    if (!Object.keys(value).every((name) => PRINTED.has(name))) return { text }
    const exitCode = num(value['exit_code'])
    return exitCode === undefined ? { text: output } : { text: output, exitCode }
  } catch {
    return { text }
  }
}

function withStatus(said: Output, exitCode: number | undefined, durationMs: number | undefined): Output {
  const out = { ...said }
  if (exitCode !== undefined) {
    out.exitCode = exitCode
    out.failed = exitCode !== 0
  }
  if (durationMs !== undefined) out.durationMs = durationMs
  return out
}

function inMilliseconds(seconds: number | null | undefined): number | undefined {
  // "0.0000 seconds" is what Codex prints where it did not measure.
  return seconds && Number.isFinite(seconds) ? Math.round(seconds * 1000) : undefined
}
