// What was asked for and what was answered last, in the words of both; and what tells a session from others in one line. Bodies
// are read once, of the few events that matter.
import type { EventKind } from '../model.ts'
import { type DigestEvent, fullText, isResult } from './event.ts'
import type { Commit } from './kept.ts'
import type { Step } from './step.ts'
import {
  cutTitle,
  isBareCommand,
  isTelling,
  NOTHING_ASKED,
  nameOfPlan,
  pointedTo,
  requestIn,
  type Title,
  topicOfBranch,
} from './title.ts'

/** Something that was said, with its text once that was needed. */
interface Said {
  seq: number
  text: string | null
  /** Of a prompt: what it asks for, in one line. */
  request: string
}

/** Plain data, so that it can be kept and gone on from. */
export interface AskedState {
  /** The first ones; more than one only where the first tell nothing. */
  prompts: Said[]
  inherited: Said | null
  answer: Said | null
  /** What a bare command was about: the heading of the plan it read, the name of the pull request or issue it names. */
  plan: string | null
  request: string | null
  /** What a plan without a heading says it is for. */
  goal: string | null
  /** Results that were looked through for that. */
  looked: number
}

export interface Spoken {
  seq: number
  text: string
}

const MAX_PROMPTS = 3
const MAX_LOOKED = 60
const PROMPT_LENGTH = 2000
const ANSWER_LENGTH = 800

export const newAsked = (): AskedState => ({
  prompts: [],
  inherited: null,
  answer: null,
  plan: null,
  request: null,
  goal: null,
  looked: 0,
})

export class Asked {
  readonly #now: AskedState
  /** Events whose text was not needed yet. */
  readonly #unread = new Map<Said, DigestEvent>()

  constructor(state: AskedState) {
    this.#now = state
  }

  /** Of the conversation itself. */
  add(event: DigestEvent): void {
    const now = this.#now
    if (event.kind === 'assistant_msg') {
      if (now.answer) this.#unread.delete(now.answer)
      now.answer = this.#said(event)
    } else if (event.kind === 'user_msg' && event.role !== 'system' && this.#wantsMore()) {
      // At once: what stands near it is read for other reasons, and later would have to be unpacked again.
      now.prompts.push(this.#read(this.#said(event), PROMPT_LENGTH))
    }
  }

  #wantsMore(): boolean {
    const { prompts } = this.#now
    return prompts.length < MAX_PROMPTS && !prompts.some(({ request }) => isTelling(request))
  }

  addInherited(event: DigestEvent): void {
    if (event.kind === 'user_msg' && event.role !== 'system') this.#now.inherited ??= this.#said(event)
  }

  /** A result may show what a bare command is about. */
  look(step: Step, result: DigestEvent): void {
    const now = this.#now
    const [first] = now.prompts
    if (!first || now.plan !== null || now.looked >= MAX_LOOKED || !isResult(result)) return
    const command = this.#commandOf(first)
    if (command === undefined) return
    const file = pointedTo(command)
    const isPlan =
      file === undefined
        ? PLAN_FILE.test(step.files[0] ?? '') || (step.does === 'shell' && PLAN_FILE.test(step.subject))
        : isOf(step, file)
    if (file !== undefined && !isPlan) return
    const number = /(?<![\w.])#?(\d{2,7})\b/.exec(command)?.[1]
    const mayName =
      number !== undefined && now.request === null && (step.does === 'shell' || step.does === 'spawn')
    if (!isPlan && !mayName) return
    now.looked++
    const text = fullText(result).slice(0, MAX_OUTPUT)
    if (isPlan) now.plan = headingIn(text)
    if (isPlan && now.plan === null) now.goal ??= goalIn(text)
    if (now.plan === null && mayName) now.request = nameIn(text, step, number)
  }

  /** Before the state is kept, or told. */
  read(): void {
    const { inherited, answer } = this.#now
    if (inherited) this.#read(inherited, PROMPT_LENGTH)
    if (answer) this.#read(answer, ANSWER_LENGTH)
  }

  #read(said: Said, length: number): Said {
    const event = this.#unread.get(said)
    if (!event || said.text !== null) return said
    const text = wordsOf(event)
    said.text = cutText(text, length)
    if (length === PROMPT_LENGTH) said.request = requestIn(text)
    this.#unread.delete(said)
    return said
  }

  finish(): { firstPrompt: Spoken | null; lastAnswer: Spoken | null; asked: AskedState } {
    const { prompts, inherited, answer } = this.#now
    const told = (said: Said | null | undefined): Spoken | null =>
      said ? { seq: said.seq, text: said.text ?? '' } : null
    return { firstPrompt: told(prompts[0] ?? inherited), lastAnswer: told(answer), asked: this.#now }
  }

  #said(event: DigestEvent): Said {
    const said = { seq: event.seq, text: null, request: '' }
    this.#unread.set(said, event)
    return said
  }

  #commandOf(said: Said): string | undefined {
    const text = said.text ?? this.#unread.get(said)?.summary ?? ''
    return isBareCommand(text) || pointedTo(text) !== undefined ? text : undefined
  }
}

/** Whether a step reads this file. */
function isOf({ does, files, subject }: Step, file: string): boolean {
  const base = file.split(/[\\/]/).at(-1) ?? file
  return does === 'read' ? (files[0] ?? '').endsWith(base) : does === 'shell' && subject.includes(base)
}

/** What a session is called where nobody named it. */
export function titleOf(
  { prompts, inherited, plan, request, goal }: AskedState,
  commits: readonly Commit[],
  branch: string | null,
): Title {
  const said =
    prompts.find((one) => isTelling(one.request)) ?? prompts.find((one) => one.request !== '') ?? inherited
  const asked = said?.request ?? ''
  const commit = commits.at(-1)?.subject || null
  const topic = branch === null ? null : (topicOfBranch(branch) ?? null)
  const isToldElsewhere = pointedTo(asked) !== undefined
  if (asked !== '' && isTelling(asked) && !isBareCommand(asked) && !(isToldElsewhere && plan !== null))
    return { text: asked, source: 'prompt' }
  const [about, source]: [string | null, Title['source']] =
    plan !== null
      ? [plan, 'plan']
      : commit !== null
        ? [request === null || request.includes(commit) ? commit : `${commit} · ${request}`, 'commit']
        : request !== null
          ? [request, 'pull_request']
          : goal !== null
            ? [goal, 'plan']
            : [topic, 'branch']
  if (about === null) return asked === '' ? NOTHING_ASKED : { text: asked, source: 'prompt' }
  return { text: cutTitle(asked === '' ? about : `${asked}: ${about}`), source }
}

/** A conversation beside the work: a program asked for a title, warmed a model up, or opened a session and asked nothing. */
export type HelperKind = 'title' | 'warm-up' | 'nothing-asked'

const MAKES_TITLE =
  /\b(?:generate|provide|write|create|suggest|make|give)\b[^.\n]{0,60}\btitle\b[^.\n]{0,40}\bfor (?:this|the|a|an|that)\b[^.\n]{0,20}\b(?:task|conversation|session|chat|thread|request|prompt)\b/i

export function helperOf({ asked, toolHistogram, kindCounts }: Helped, turnCount: number): HelperKind | null {
  const { prompts, inherited, answer } = asked
  const [first] = prompts
  if (!first)
    return toolHistogram.size === 0 && turnCount === 0 && !inherited && !answer && !kindCounts.error
      ? 'nothing-asked'
      : null
  if (turnCount > 1 || kindCounts.edit) return null
  if (/^warm[- ]?up\.?$/i.test(first.request)) return 'warm-up'
  return MAKES_TITLE.test((first.text ?? '').slice(0, 400)) ? 'title' : null
}

interface Helped {
  asked: AskedState
  toolHistogram: ReadonlyMap<string, number>
  kindCounts: Partial<Record<EventKind, number>>
}

const MAX_OUTPUT = 20_000
/** Called a plan, or in a directory of plans. */
const PLAN_FILE = /(?:[\s/\\"'_.-]|^)plan\.md(?![\w.-])|[/\\]plans[/\\][\w.-]+\.md(?![\w.-])/i

/** The heading at the top, with or without the numbers of lines before it. */
function headingIn(text: string): string | null {
  const heading = /^(?:[ \t]{0,9}\d{1,6}[→\t|: ]\s{0,9})?#[ \t]{1,9}(\S.{0,300})/m.exec(
    text.slice(0, 2000),
  )?.[1]
  return heading === undefined ? null : nameOfPlan(heading.trim())
}

function goalIn(text: string): string | null {
  const goal = GOAL.exec(text.slice(0, 2000))?.[1]?.trim()
  return goal === undefined || isBareCommand(goal) || !isTelling(requestIn(goal)) ? null : goal
}

const GOAL = /(?:^|[→\t])[*_ ]{0,4}(?:prompt|task|goal)[*_ ]{0,3}:[*_ ]{0,4}(\S.{7,200})/im
const TITLE_LINE = /^title:[ \t]{1,9}(\S.{0,300})/m
const TITLE_FIELD = /"(?:\w+_)?title":\s*"((?:[^"\\]|\\.){4,300})"/

/** The name of what has this number, as its tracker tells it. */
function nameIn(text: string, { subject, does }: Step, number: string): string | null {
  if (!subject.includes(number) && (does === 'shell' || !text.includes(number))) return null
  const line = TITLE_LINE.exec(text)?.[1]
  const field = line === undefined ? TITLE_FIELD.exec(text)?.[1] : undefined
  const name = line ?? (field === undefined ? undefined : unquoted(field))
  return name === undefined ? null : nameOfPlan(name.trim())
}

function unquoted(field: string): string | undefined {
  try {
    return JSON.parse(`"${field}"`) as string
  } catch {
    return undefined
  }
}

/** The row has the first line, the body all of it. */
const wordsOf = (event: DigestEvent): string => event.body()?.said ?? event.summary

function cutText(text: string, limit: number): string {
  const words = text.trim().replace(/\n\s*\n\s*\n/g, '\n\n')
  return (words.length > limit ? `${words.slice(0, limit - 1).trimEnd()}…` : words).toWellFormed()
}
