// Tool calls and their results: kinds, one-line summaries, what is done, what is said, how it ended, who said no.

import type { Made } from '../../event/body.ts'
import { editsIn } from '../../event/edits.ts'
import { remember } from '../kit/bounded.ts'
import { closeCall, openCall } from '../kit/calls.ts'
import { isRecord, list, num, str } from '../kit/guards.ts'
import { contentText, firstLine, shortHash, wordList } from '../kit/text.ts'
import { commandIn, deedIn, toolsBy } from '../kit/tools.ts'
import { bare, type Draft, type Line } from './line.ts'
import { noteAgent, notePrompt } from './spawn.ts'
import { readSpilled, spilledPath } from './spill.ts'
import { goesOn, noteTask } from './tasks.ts'

const SHELLS = new Set(['Bash', 'PowerShell'])
const TOOLS = toolsBy({
  shell: 'Bash PowerShell Monitor',
  edit: 'Edit MultiEdit Write NotebookEdit mcp__acp__Write mcp__acp__Edit',
  read: 'Read NotebookRead LS mcp__acp__Read',
  search: 'Grep Glob LSP WebSearch web_search',
  fetch: 'WebFetch web_fetch',
  spawn: 'Agent Task Workflow',
  ask: 'AskUserQuestion',
  plan: 'TodoWrite TodoRead TaskCreate TaskUpdate TaskList TaskGet EnterPlanMode ExitPlanMode exit_plan_mode',
})
/** The field of an input that names what the call is about, in order of preference. */
const SUBJECTS = wordList(
  'command pattern query url skill description subject prompt taskId shell_id bash_id',
)

/** A tool_use block (also of server-side tools). `index` is its place in the line. */
export function callDraft(line: Line, block: Record<string, unknown>, index: number): Draft {
  const tool = str(block['name']) ?? 'unknown'
  const input = isRecord(block['input']) ? block['input'] : {}
  const id = str(block['id'])
  const command = SHELLS.has(tool) ? str(input['command']) : undefined
  const kind = id
    ? openCall(line.state.calls, {
        id,
        tool,
        input,
        ts: line.ts,
        edits: deedIn(TOOLS, tool) === 'edit',
        command,
      })
    : 'tool_call'
  const prompt = str(input['prompt'])
  if (deedIn(TOOLS, tool) === 'spawn' && prompt !== undefined) {
    remember(line.state.spawns, [shortHash(prompt), `${line.key}#${index}`])
    if (id) notePrompt(line, id, prompt)
  }
  const file = str(input['file_path']) ?? str(input['notebook_path'])
  const subject = SUBJECTS.map((name) => str(input[name])).find(
    (value) => value !== undefined && value !== '',
  )
  const about = file ?? (subject === undefined ? undefined : firstLine(subject))
  const draft: Draft = {
    kind,
    role: 'assistant',
    tool,
    summary: about === undefined ? tool : file === undefined ? `${tool}: ${about}` : `${tool} ${about}`,
    act: actOf(tool, input, block['input']),
    payload: { ...block },
  }
  if (id) draft.callId = id
  if (file !== undefined) draft.files = [file]
  return draft
}

/** What other tools do is certain only where they run a command. */
function actOf(tool: string, input: Record<string, unknown>, given: unknown): NonNullable<Draft['act']> {
  const known = deedIn(TOOLS, tool)
  const command =
    known === 'shell' ? str(input['command']) : known === undefined ? commandIn(tool, input) : undefined
  const edits = known === 'edit' ? editsIn(input) : []
  return {
    does: known ?? (command === undefined ? 'other' : 'shell'),
    ...(given !== undefined && { input: given }),
    ...(command !== undefined && { command }),
    ...(edits.length > 0 && { edits }),
  }
}

/** A result block; `outcome` is the line's toolUseResult, which belongs to the only result of a line. */
export function resultDraft(line: Line, block: Record<string, unknown>, outcome: unknown): Draft {
  const id = str(block['tool_use_id'])
  const failed = block['is_error'] === true || isServerError(block['content'])
  const spilled = readSpilled(line.reader.place.projectDir, spilledPath(block['content'], outcome))
  const said = contentText(block['content'])
  const output =
    spilled?.text ?? longer(unwrapped(said ?? ''), (isRecord(outcome) && str(outcome['stdout'])) || '')
  const refused = failed && isRefusal(line.record, said ?? '')
  const call = id ? closeCall(line.state.calls, id, failed && !refused, line.ts) : undefined
  const draft: Draft = {
    kind: kindOfResult(failed, refused, outcome),
    role: 'tool',
    summary: '',
    ...endOf(line.record, { failed, refused, tool: call?.tool ?? '' }, outcome, said ?? ''),
    ...madeIn(outcome),
    payload: { ...block, ...(spilled && { spilled }) },
  }
  if (spilled?.missing !== undefined) draft.isIncomplete = true
  if (id) noteAgent(line, id, outcome, call && deedIn(TOOLS, call.tool) === 'spawn' ? (said ?? '') : '')
  if (call) draft.tool = call.tool
  if (id && call && SHELLS.has(call.tool)) noteTask(line, id, call.tool, outcome, said ?? '')
  if (id) draft.callId = id
  if (output) draft.said = output
  const original = originalIn(outcome)
  if (original !== undefined) draft.original = original
  const files = changedFiles(outcome)
  if (files.length > 0) draft.files = files
  const exitCode = exitCodeOf(said ?? '', block, call?.tool, outcome)
  if (exitCode !== undefined) draft.exitCode = exitCode
  const durationMs = tookMs(outcome) ?? call?.durationMs
  if (durationMs !== undefined) draft.durationMs = durationMs
  draft.summary = resultSummary(said ?? '', exitCode)
  if (draft.mark === 'changed-by-person') draft.summary = `changed by a person: ${draft.summary}`
  return draft
}

/** How tools that the provider runs say so. */
const isServerError = (content: unknown): boolean =>
  isRecord(content) && (str(content['type'])?.endsWith('_tool_result_error') ?? false)

/** What a pull request that was only talked about is not. */
const KEPT_BY = ['created', 'merged', 'ready']

/** The commit and the pull request that the client saw a command make. */
function madeIn(outcome: unknown): { made?: Made } {
  const seen = isRecord(outcome) ? outcome['gitOperation'] : undefined
  if (!isRecord(seen)) return {}
  const commit = isRecord(seen['commit']) ? str(seen['commit']['sha']) : undefined
  const request = isRecord(seen['pr']) ? seen['pr'] : {}
  const url = KEPT_BY.includes(str(request['action']) ?? '') ? str(request['url']) : undefined
  if (!(commit || url)) return {}
  return { made: { commits: commit ? [commit] : [], pullRequests: url ? [url] : [] } }
}

/** The whole file as it was before an edit. */
const originalIn = (outcome: unknown): string | undefined =>
  isRecord(outcome)
    ? (str(outcome['originalFile']) ?? str(outcome['originalFileContents']) ?? str(outcome['original_file']))
    : undefined

/** An output without what the client puts around it. */
function unwrapped(said: string): string {
  const tag = /^<(tool_use_error|persisted-output)>/.exec(said)?.[1]
  const inner = tag === undefined ? said : said.slice(tag.length + 2).replace(`</${tag}>`, '')
  return inner.replace(/^(?:Error: )?Exit code \d+(?:\n|$)/, '')
}

/** What a command changed on the disk, as the client saw it afterwards. */
function changedFiles(outcome: unknown): string[] {
  const seen = isRecord(outcome) ? outcome['bashEditDiff'] : undefined
  if (!isRecord(seen)) return []
  const shown = list(seen['files']).map((file) => (isRecord(file) ? file['filePath'] : undefined))
  return [...new Set([...list(seen['changedFiles']), ...shown].flatMap((path) => str(path) || []))]
}

/** How long it took, as the client measured it. */
function tookMs(outcome: unknown): number | undefined {
  if (!isRecord(outcome)) return undefined
  const seconds = num(outcome['durationSeconds'])
  return (
    num(outcome['totalDurationMs']) ??
    num(outcome['durationMs']) ??
    (seconds === undefined ? undefined : Math.round(seconds * 1000))
  )
}

function kindOfResult(failed: boolean, refused: boolean, outcome: unknown): Draft['kind'] {
  if (refused) return 'human_intervention'
  if (failed) return 'error'
  return isChanged(outcome) ? 'human_intervention' : 'tool_result'
}

/** How the call ended, and what that means to the session. */
function endOf(
  record: Record<string, unknown>,
  { failed, refused, tool }: { failed: boolean; refused: boolean; tool: string },
  outcome: unknown,
  said: string,
): Pick<Draft, 'state' | 'mark'> {
  if (said.startsWith(CUT_OFF)) return { state: 'cut' }
  if (refused && said.startsWith(INTERRUPTED)) return { state: 'stopped', mark: 'interrupt' }
  if (refused || (failed && isDenied(record, said))) return { state: 'refused', mark: 'denied' }
  if ((isRecord(outcome) && outcome['interrupted'] === true) || (failed && ABORTED.test(said)))
    return { state: 'stopped' }
  if (failed && WITH_ANOTHER.test(said)) return { state: 'stopped' }
  if (failed) return { state: 'failed' }
  if (isChanged(outcome)) return { state: 'ok', mark: 'changed-by-person' }
  const begins = SHELLS.has(tool) || deedIn(TOOLS, tool) === 'spawn'
  return { state: goesOn(outcome, begins ? said : '') ? 'background' : 'ok' }
}

/** What the next process writes for a call that was running when the last one was killed. */
const CUT_OFF = '[Tool call interrupted: the session ended'
const INTERRUPTED = '[Request interrupted by user'
const ABORTED = /<error>Command was aborted before completion<\/error>\s*$/
/** Calls made together end together where one of them fails. */
const WITH_ANOTHER = /^(?:<tool_use_error>)?(?:Sibling tool call errored|Cancelled: parallel tool call\b)/
const BY_RULE = /^(?:Permission (?:to use|for) [^\n]*\bdenied\b|PreToolUse:\S+ hook error)/

/** A rule or a hook said no, or nobody was there to say yes. */
function isDenied(record: Record<string, unknown>, said: string): boolean {
  const kind = record['toolDenialKind']
  return (typeof kind === 'string' && kind !== 'interrupted') || UNASKED.test(said) || BY_RULE.test(said)
}

const isChanged = (outcome: unknown): boolean => isRecord(outcome) && outcome['userModified'] === true

const BY_PERSON = /^(?:The user doesn't want to|\[Request interrupted by user)/
const UNASKED = /^[^\n]*(?:\brequires? approval\b|but you haven't granted it yet)/

/** Whether a person said no, or stopped it. Rules and sandboxes also refuse; the client marks some of those `user-rejected`. */
function isRefusal(record: Record<string, unknown>, said: string): boolean {
  if (BY_PERSON.test(said)) return true
  // Nobody was there to be asked.
  if (UNASKED.test(said)) return false
  const decision = isRecord(record['permissionDecision']) ? record['permissionDecision'] : {}
  return record['toolDenialKind'] === 'user-rejected' && decision['source'] !== 'config'
}

function exitCodeOf(
  said: string,
  block: Record<string, unknown>,
  tool: string | undefined,
  outcome: unknown,
): number | undefined {
  const failed = block['is_error'] === true
  const written = failed ? /^(?:<tool_use_error>)?(?:Error: )?Exit code (\d+)/.exec(said) : null
  if (written) return Number(written[1])
  const task = isRecord(outcome) && isRecord(outcome['task']) ? outcome['task'] : outcome
  const explicit = isRecord(task) ? num(task['exitCode']) : undefined
  if (explicit !== undefined) return explicit
  // A shell writes its code down only when it is not 0; in sub-agents' files often nothing but `is_error` is left.
  if (failed || tool === undefined || !SHELLS.has(tool)) return undefined
  if (!isRecord(outcome))
    return block['is_error'] === false && !said.startsWith('Command running') ? 0 : undefined
  // What the client explains (`No matches found`) was another code than 0, and no failure.
  const isExplained = Boolean(outcome['returnCodeInterpretation'])
  const hasEnded = outcome['interrupted'] === false && outcome['backgroundTaskId'] === undefined
  return hasEnded && !isExplained ? 0 : undefined
}

function resultSummary(said: string, exitCode: number | undefined): string {
  if (!exitCode) return firstLine(said) || '(no output)'
  const rest = said.replace(/^.*Exit code \d+[^\n]*\n?/, '')
  return `exit ${exitCode}: ${firstLine(rest)}`
}

const longer = (a: string, b: string): string => (b.length > a.length ? b : a)

/** The line's own facts about a result, without what the block already says: the same words, the same picture. */
export function resultExtras(
  record: Record<string, unknown>,
  block: Record<string, unknown> | undefined,
): Record<string, unknown> {
  const rest = bare(record, 'type', 'message')
  const outcome = rest['toolUseResult']
  if (typeof outcome === 'string') {
    const said = contentText(block?.['content'])
    return outcome === said || outcome === `Error: ${said}` ? bare(rest, 'toolUseResult') : rest
  }
  return isRecord(outcome)
    ? { ...rest, toolUseResult: withoutRepeats(outcome, contentText(block?.['content'])) }
    : rest
}

/** Clients write an output twice on one line; a second copy would cost as much as the first and say nothing new. */
function withoutRepeats(outcome: Record<string, unknown>, said: string | undefined): Record<string, unknown> {
  if (typeof outcome['stdout'] === 'string' && outcome['stdout'] !== '' && outcome['stdout'] === said) {
    return { ...outcome, stdout: SAME_AS_CONTENT }
  }
  const file = outcome['file']
  if (!isRecord(file)) return outcome
  if (typeof file['base64'] === 'string') {
    const { base64, ...shown } = file
    return { ...outcome, file: { ...shown, base64Length: String(base64).length } }
  }
  const isShown =
    said !== undefined && typeof file['content'] === 'string' && unnumbered(said) === file['content']
  return isShown ? { ...outcome, file: { ...file, content: SAME_AS_CONTENT } } : outcome
}

/** What stands in place of a text that the result block holds word for word (in a listing: behind the line numbers). */
const SAME_AS_CONTENT = { recollect: 'same as content' }

const unnumbered = (listing: string): string => listing.replace(/^ *\d+[→\t]/gm, '')
