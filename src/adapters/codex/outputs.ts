// What a tool's output says about its end. Codex never wrote an exit status as a field: five text forms are told apart.
import { isRecord, list, num, str } from '../guards.ts'

export interface Output {
  /** The output with its wrapping parsed, for the payload. */
  value: unknown
  text: string
  /** The part after the header. */
  body: string
  exitCode?: number
  durationMs?: number
  failed: boolean
  /** A person stopped or refused it. */
  stopped: boolean
  /** Name of the command that goes on. */
  session?: string
}

const FAILURE =
  /^(?:apply_patch verification failed|error: |execution error|failed (?:in sandbox|to )|unsupported (?:custom tool )?call|(?:exec_command|write_stdin|command) failed|Script (?:failed|error|terminated)|(?:Wall time: [^\n]*\nOutput:\n)?tool call error|err: "|patch rejected: |rejected by configuration|automatic approval review denied|`[\s\S]{0,4000}?` rejected: |collab (?:spawn|tool) failed)/i
const STOPPED =
  /^(?:Wall time: [^\n]*\n(?:Output:\n)?|err: ")?(?:aborted by user|aborted\b|(?:(?:exec )?command |patch )?rejected by user|user (?:rejected|denied|declined|cancelled))/i
const HEADER = /^(?:Exit code: |Chunk ID: |Wall time: |Script \w+\n)/
const HEADER_LENGTH = 600

export function readOutput(output: unknown): Output {
  if (typeof output === 'string') return output.startsWith('{') ? fromJson(output) : fromText(output, output)
  if (isRecord(output)) {
    const said = fromText(str(output['content']) ?? partsText(output['content']), output)
    return output['success'] === false ? { ...said, failed: true } : said
  }
  return fromText(partsText(output), output)
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
  const plain: Output = { value, text, body: text, failed: FAILURE.test(text), stopped: STOPPED.test(text) }
  const head = text.slice(0, HEADER_LENGTH)
  if (!HEADER.test(head)) {
    const sandboxed = /^failed in sandbox \S+ with (?:execution error: [^\n]*?)?exit code:? (-?\d+)/.exec(
      head,
    )
    return sandboxed ? withStatus(plain, Number(sandboxed[1]), undefined) : plain
  }
  const bodyAt = /^Output:\n?/m.exec(head)
  const header = bodyAt ? head.slice(0, bodyAt.index) : head
  const exit = /^(?:Exit code: |Process exited with code )(-?\d+)/m.exec(header)
  const wall = /^Wall time:? ([\d.]+) seconds/m.exec(header)
  const said = withStatus(plain, exit ? Number(exit[1]) : undefined, inMilliseconds(wall && Number(wall[1])))
  const session = /^Process running with session ID (\d+)/m.exec(header)?.[1]
  if (session !== undefined) said.session = session
  return bodyAt ? { ...said, body: text.slice(bodyAt.index + bodyAt[0].length) } : said
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
