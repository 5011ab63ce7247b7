// One pass over a session's events: what was asked, done, run, changed and said, with the seqs that show it. Pure: it
// knows nothing of a store. Superseded and inherited events are not the session's own and are left out; what sub-agents
// did inside the session counts as its work, but not as its conversation.
import type { EventKind } from '../model.ts'
import { Ending, type EndingFacts } from './ending.ts'
import { type Failure, failureOf } from './errors.ts'
import { type DigestEvent, fullText, isCall, isResult, isShell, snippet, subjectOf } from './event.ts'
import { type Commit, commitsIn, mayCommit, mayOpenPullRequest, pullRequestsIn } from './kept.ts'
import { type Test, testVerdict } from './tests.ts'

/** A call with what became of it. */
export interface Step {
  seq: number
  resultSeq: number | null
  kind: EventKind
  tool: string
  subject: string
  files: readonly string[]
  isTest: boolean
  isSidechain: boolean
  /** Null while no result is known. */
  hasFailed: boolean | null
  exitCode: number | null
  durationMs: number | null
  failure: string | null
}

export interface FailureFact extends Failure {
  tool: string | null
  count: number
  seqs: number[]
  firstAt: number | null
  lastAt: number | null
}

export interface Cited {
  seqs: number[]
}

export interface Facts {
  eventCount: number
  kindCounts: Partial<Record<EventKind, number>>
  toolHistogram: Record<string, number>
  firstPrompt: { seq: number; text: string } | null
  lastAnswer: { seq: number; text: string } | null
  steps: Step[]
  tests: Test[]
  commits: (Commit & Cited)[]
  pullRequests: ({ url: string } & Cited)[]
  failures: FailureFact[]
  compactions: number[]
  agents: { agent: string; eventCount: number; seqs: number[] }[]
  interrupts: number[]
  denials: number[]
  interventions: number[]
  requestRetries: number[]
  /** Time in which something happened: pauses longer than `IDLE_MS` are left out. */
  activeMs: number
  ending: EndingFacts
}

const IDLE_MS = 5 * 60_000
const PROMPT_LENGTH = 400
const ANSWER_LENGTH = 400
const COMPACTED = /\b(?:conversation|context|auto[- ]compact) ?(?:compacted|completed)\b|^compacted:/i
const DENIED =
  /\b(?:requires? approval|permission|not (?:been )?(?:allowed|permitted|granted)|operation not permitted|sandbox denied|denied by|rejected by)\b/i

export function gatherFacts(events: Iterable<DigestEvent>): Facts {
  const gatherer = new Gatherer()
  for (const event of events) gatherer.add(event)
  return gatherer.finish()
}

class Gatherer {
  readonly #facts: Omit<Facts, 'ending' | 'firstPrompt' | 'lastAnswer' | 'activeMs'> = {
    eventCount: 0,
    kindCounts: {},
    toolHistogram: {},
    steps: [],
    tests: [],
    commits: [],
    pullRequests: [],
    failures: [],
    compactions: [],
    agents: [],
    interrupts: [],
    denials: [],
    interventions: [],
    requestRetries: [],
  }
  readonly #ending = new Ending()
  readonly #openSteps = new Map<string, Step>()
  readonly #testSubjects = new Set<string>()
  readonly #failures = new Map<string, FailureFact>()
  readonly #agents = new Map<string, Facts['agents'][number]>()
  readonly #times: number[] = []
  #firstPrompt: DigestEvent | null = null
  #inheritedPrompt: DigestEvent | null = null
  #lastAnswer: DigestEvent | null = null

  add(event: DigestEvent): void {
    if (event.isSuperseded) return
    if (event.isInherited) {
      if (event.kind === 'user_msg' && !event.isSidechain) this.#inheritedPrompt ??= event
      return
    }
    const facts = this.#facts
    facts.eventCount++
    facts.kindCounts[event.kind] = (facts.kindCounts[event.kind] ?? 0) + 1
    if (event.ts !== null) this.#times.push(event.ts)
    if (event.isSidechain) this.#noteAgent(event)
    else this.#noteTalk(event)
    if (isCall(event)) this.#open(event)
    else if (isResult(event)) this.#close(event)
    else if (event.kind === 'error') this.#noteFailure(event)
    else this.#noteRest(event)
    this.#ending.add(event)
  }

  finish(): Facts {
    const prompt = this.#firstPrompt ?? this.#inheritedPrompt
    const answer = this.#lastAnswer
    return {
      ...this.#facts,
      failures: [...this.#failures.values()],
      agents: [...this.#agents.values()],
      firstPrompt: prompt && { seq: prompt.seq, text: shortText(prompt, PROMPT_LENGTH) },
      lastAnswer: answer && { seq: answer.seq, text: shortText(answer, ANSWER_LENGTH * 2) },
      activeMs: activeTime(this.#times),
      ending: this.#ending.finish(),
    }
  }

  #noteTalk(event: DigestEvent): void {
    if (event.kind === 'assistant_msg') this.#lastAnswer = event
    const isPrompt =
      event.kind === 'user_msg' || (event.kind === 'human_intervention' && /^[/!]/.test(event.summary))
    // A command typed before the first real prompt (`/model`, `/clear`) is only the prompt where none follows.
    if (
      isPrompt &&
      (this.#firstPrompt === null || (event.kind === 'user_msg' && this.#firstPrompt.kind !== 'user_msg'))
    )
      this.#firstPrompt = event
  }

  #noteAgent(event: DigestEvent): void {
    const name = event.agent ?? ''
    const known = this.#agents.get(name)
    if (known) known.eventCount++
    else this.#agents.set(name, { agent: name, eventCount: 1, seqs: [event.seq] })
  }

  #noteRest(event: DigestEvent): void {
    const facts = this.#facts
    if (event.kind === 'retry') facts.requestRetries.push(event.seq)
    else if (event.kind === 'human_intervention') {
      facts.interventions.push(event.seq)
      if (isInterrupt(event)) facts.interrupts.push(event.seq)
    } else if (event.kind === 'lifecycle' && COMPACTED.test(event.summary)) facts.compactions.push(event.seq)
    else if (event.kind === 'completion') this.#notePullRequests(event.summary, [event.seq])
  }

  #open(event: DigestEvent): void {
    const tool = event.tool as string
    const facts = this.#facts
    facts.toolHistogram[tool] = (facts.toolHistogram[tool] ?? 0) + 1
    const subject = subjectOf(event)
    const step: Step = {
      seq: event.seq,
      resultSeq: null,
      kind: event.kind,
      tool,
      subject,
      files: event.files,
      isTest: event.kind === 'test_run' || (event.kind === 'retry' && this.#testSubjects.has(subject)),
      isSidechain: event.isSidechain,
      hasFailed: null,
      exitCode: null,
      durationMs: null,
      failure: null,
    }
    if (step.isTest) this.#testSubjects.add(subject)
    facts.steps.push(step)
    if (event.call !== null) this.#openSteps.set(event.call, step)
  }

  #close(event: DigestEvent): void {
    const step = event.call === null ? undefined : this.#openSteps.get(event.call)
    const refused = event.kind === 'human_intervention'
    if (refused) this.#facts.interventions.push(event.seq)
    if (step) {
      step.resultSeq = event.seq
      step.hasFailed = event.kind === 'error' || refused
      step.exitCode = event.exitCode
      step.durationMs = event.durationMs
      if (step.isTest) this.#facts.tests.push(testVerdict(step, event))
      else if (isShell(step.tool)) this.#noteKept(step, event)
    }
    if (refused || (event.kind === 'error' && event.exitCode === null && DENIED.test(event.summary)))
      this.#facts.denials.push(event.seq)
    if (event.kind !== 'error') return
    const failure = this.#noteFailure(event, step?.subject)
    if (step) step.failure = failure
  }

  #noteFailure(event: DigestEvent, command?: string): string {
    const failure = failureOf(event.tool, fullText(event), command)
    const known = this.#failures.get(failure.fingerprint)
    if (known) {
      known.count++
      known.seqs.push(event.seq)
      known.lastAt = event.ts ?? known.lastAt
    } else {
      this.#failures.set(failure.fingerprint, {
        ...failure,
        tool: event.tool,
        count: 1,
        seqs: [event.seq],
        firstAt: event.ts,
        lastAt: event.ts,
      })
    }
    return failure.fingerprint
  }

  /** Commits and pull requests, where the command may have made one and its output shows it. */
  #noteKept(step: Step, result: DigestEvent): void {
    const commits = mayCommit(step.subject)
    const requests = mayOpenPullRequest(step.subject)
    if (!(commits || requests) || step.hasFailed) return
    const text = fullText(result)
    const seqs = [step.seq, result.seq]
    if (commits) for (const commit of commitsIn(text)) this.#facts.commits.push({ ...commit, seqs })
    if (requests) this.#notePullRequests(text, seqs)
  }

  #notePullRequests(text: string, seqs: number[]): void {
    for (const url of pullRequestsIn(text)) {
      const known = this.#facts.pullRequests.find((one) => one.url === url)
      if (known) known.seqs.push(...seqs)
      else this.#facts.pullRequests.push({ url, seqs: [...seqs] })
    }
  }
}

const isInterrupt = (event: Pick<DigestEvent, 'kind' | 'summary'>): boolean =>
  event.kind === 'human_intervention' && /\b(?:interrupted|aborted|cancelled|canceled)\b/i.test(event.summary)

/** The row holds the beginning; the body is only read where that is not all. */
function shortText(event: DigestEvent, limit: number): string {
  return snippet(event.summary.endsWith('…') ? fullText(event) : event.summary, limit)
}

function activeTime(times: number[]): number {
  times.sort((a, b) => a - b)
  let active = 0
  for (let at = 1; at < times.length; at++) {
    const pause = (times[at] as number) - (times[at - 1] as number)
    if (pause <= IDLE_MS) active += pause
  }
  return active
}
