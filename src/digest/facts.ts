// One pass over a session's events: what was asked, done, run, changed and said, with the seqs that show it. Pure: it
// knows nothing of a store. Superseded and inherited events are not the session's own and are left out; what sub-agents
// did inside the session counts as its work, but not as its conversation.
// The pass can stop, be kept as text, and go on later from there with the same result: a line added to a long session
// costs what the line costs. For that its state stays small however long the session gets.
import { parseStored } from '../errors.ts'
import { subjectOf } from '../event/words.ts'
import { type EventKind, isCall, isCallKind } from '../model.ts'
import { type ActiveTime, activeMs, addTime, noTime } from './active.ts'
import { entryOf, prune } from './bounded.ts'
import { Ending, type EndingFacts, type EndingState, newEnding } from './ending.ts'
import { type Failure, failureOf, isMereNo } from './errors.ts'
import { type DigestEvent, fullText, isRefusal, isResult, isStop, snippet, toolClass } from './event.ts'
import { type Commit, keptIn, mayKeep, pullRequestsIn } from './kept.ts'
import { addSeq, noSeqs, type Seqs } from './seqs.ts'
import { type OpenSteps, type Step, StepQueue } from './step.ts'
import { addTest, endTest, hidesExit, noTests, type TestState, testVerdict } from './tests.ts'
import { noWork, Work, type WorkState } from './work.ts'

export interface FailureFact extends Failure {
  tool: string | null
  seqs: Seqs
  firstAt: number | null
  lastAt: number | null
}

/** Something that was said, with its text once that was needed. */
interface Said {
  seq: number
  text: string | null
}

interface Counted {
  eventCount: number
  kindCounts: Partial<Record<EventKind, number>>
  toolHistogram: Map<string, number>
  tests: TestState
  commits: (Commit & { seqs: number[] })[]
  pullRequests: { url: string; seqs: Seqs }[]
  /** By fingerprint. */
  failures: Map<string, FailureFact>
  compactions: Seqs
  agents: Map<string, { agent: string; eventCount: number; seqs: number[] }>
  interrupts: Seqs
  denials: Seqs
  interventions: Seqs
  requestRetries: Seqs
  work: WorkState
}

export interface Facts extends Counted {
  firstPrompt: { seq: number; text: string } | null
  lastAnswer: { seq: number; text: string } | null
  /** Time in which something happened. */
  activeMs: number
  ending: EndingFacts
}

/** All there is to know to go on; plain data and maps. */
interface State extends Counted {
  active: ActiveTime
  ending: EndingState
  open: OpenSteps
  firstPrompt: Said | null
  inheritedPrompt: Said | null
  /** Whom a person stopped and who has not gone on since (null: the session's own agent); false for nobody. */
  stopped: string | null | false
  lastAnswer: Said | null
}

/** What shows that the agent was let go on. */
const carriesOn = (kind: EventKind): boolean =>
  isCallKind(kind) || kind === 'user_msg' || kind === 'assistant_msg' || kind === 'thinking'
const PROMPT_LENGTH = 400
const ANSWER_LENGTH = 800
const MAX_STEP_FILES = 100
const KEPT = { tools: 500, failures: 120, agents: 200, commits: 100, pullRequests: 50 }

export class Gatherer {
  readonly #now: State
  readonly #ending: Ending
  readonly #work: Work
  readonly #steps: StepQueue
  /** Events whose text was not needed yet. */
  readonly #spoken = new Map<Said, DigestEvent>()

  /** From the beginning, or from what `save` gave. */
  constructor(saved?: string) {
    this.#now = saved === undefined ? newState() : load(saved)
    this.#ending = new Ending(this.#now.ending)
    this.#work = new Work(this.#now.work)
    this.#steps = new StepQueue(this.#now.open, (step) => this.#work.add(step))
  }

  add(event: DigestEvent): void {
    if (event.isSuperseded) return
    const now = this.#now
    if (event.isInherited) {
      if (event.kind === 'user_msg' && !event.isSidechain && !event.isPart)
        now.inheritedPrompt ??= this.#said(event)
      return
    }
    now.eventCount++
    now.kindCounts[event.kind] = (now.kindCounts[event.kind] ?? 0) + 1
    if (event.ts !== null) addTime(now.active, event.ts)
    if (carriesOn(event.kind) && now.stopped === event.agent) now.stopped = false
    if (event.isSidechain) this.#noteAgent(event)
    else if (!event.isPart) this.#noteTalk(event)
    let hasFailed = event.kind === 'error'
    if (isCall(event)) this.#begin(event)
    else if (isResult(event)) hasFailed = this.#end(event)
    else {
      this.#endLater(event)
      if (event.kind === 'error') this.#noteFailure(event)
      else this.#noteRest(event)
    }
    this.#ending.add(event, hasFailed)
  }

  /** To go on from here another time. Before `finish`. */
  save(): string {
    this.#readTexts()
    return JSON.stringify(this.#now, listMaps)
  }

  /** The facts; nothing can be added afterwards. */
  finish(): Facts {
    this.#readTexts()
    this.#steps.drain()
    const {
      active,
      ending: _,
      open: __,
      stopped: ___,
      firstPrompt,
      inheritedPrompt,
      lastAnswer,
      ...counted
    } = this.#now
    const told = (said: Said | null): Facts['firstPrompt'] => said && { seq: said.seq, text: said.text ?? '' }
    return {
      ...counted,
      firstPrompt: told(firstPrompt ?? inheritedPrompt),
      lastAnswer: told(lastAnswer),
      activeMs: activeMs(active),
      ending: this.#ending.finish(),
    }
  }

  #said(event: DigestEvent): Said {
    const said = { seq: event.seq, text: null }
    this.#spoken.set(said, event)
    return said
  }

  /** Of the first and the last words only: the row holds the beginning, the body is read where that is not all. */
  #readTexts(): void {
    const { firstPrompt, inheritedPrompt, lastAnswer } = this.#now
    for (const said of [firstPrompt, inheritedPrompt, lastAnswer]) {
      const event = said && this.#spoken.get(said)
      if (event && said.text === null)
        said.text = snippet(
          event.summary.endsWith('…') ? fullText(event) : event.summary,
          said === lastAnswer ? ANSWER_LENGTH : PROMPT_LENGTH,
        )
    }
  }

  #noteTalk(event: DigestEvent): void {
    const now = this.#now
    if (event.kind === 'assistant_msg') {
      if (now.lastAnswer) this.#spoken.delete(now.lastAnswer)
      now.lastAnswer = this.#said(event)
    }
    if (event.kind === 'user_msg') now.firstPrompt ??= this.#said(event)
  }

  #noteAgent(event: DigestEvent): void {
    const { agents } = this.#now
    const agent = event.agent ?? ''
    entryOf(agents, agent, () => ({ agent, eventCount: 0, seqs: [event.seq] })).eventCount++
    prune(agents, KEPT.agents, (a, b) => b.eventCount - a.eventCount)
  }

  #noteRest(event: DigestEvent): void {
    const now = this.#now
    if (event.kind === 'retry') addSeq(now.requestRetries, event.seq)
    else if (event.kind === 'human_intervention') {
      this.#noteIntervention(event, isStop(event))
      if (event.mark === 'interrupt') addSeq(now.interrupts, event.seq)
    } else if (event.mark === 'compaction') addSeq(now.compactions, event.seq)
    else if (event.mark === 'made')
      this.#notePullRequests((event.body()?.made?.pullRequests ?? []).flatMap(pullRequestsIn), [event.seq])
  }

  /** Who says no to one call says no to those beside it, and the client may write down an interrupt too: one deed. */
  #noteIntervention({ seq, agent }: DigestEvent, isStopping: boolean): void {
    const now = this.#now
    if (!isStopping || now.stopped !== agent) addSeq(now.interventions, seq)
    if (isStopping) now.stopped = agent
  }

  #begin(event: DigestEvent): void {
    const tool = event.tool as string
    const { toolHistogram, tests } = this.#now
    toolHistogram.set(tool, (toolHistogram.get(tool) ?? 0) + 1)
    prune(toolHistogram, KEPT.tools, (a, b) => b - a)
    const subject = subjectOf(event)
    const isTest = event.kind === 'test_run' || (event.kind === 'retry' && tests.byCommand.has(subject))
    if (isTest) addTest(tests, subject, null)
    const does = event.kind === 'edit' ? 'edit' : event.does
    // The row has the first line, or the beginning of it.
    const isCut = event.hasMore || subject.endsWith('…')
    const command = isTest || (does === 'shell' && isCut) ? (event.body()?.command ?? subject) : subject
    this.#steps.begin({
      seq: event.seq,
      call: event.call,
      does,
      tool,
      subject,
      files: event.files.slice(0, MAX_STEP_FILES),
      isTest,
      hidesExit: isTest && hidesExit(command),
      keeps: does === 'shell' ? mayKeep(command) : null,
      isSidechain: event.isSidechain,
      hasFailed: null,
      exitCode: null,
      isOpen: false,
      failure: null,
    })
  }

  /** Whether the call failed; a search that found nothing did not. */
  #end(event: DigestEvent): boolean {
    const now = this.#now
    const step = this.#steps.find(event.call)
    const refused = isRefusal(event)
    if (event.kind === 'human_intervention') this.#noteIntervention(event, refused)
    if (event.state === 'refused' || event.mark === 'denied') addSeq(now.denials, event.seq)
    const failure = event.kind === 'error' && event.state !== 'cut' ? this.#noteFailure(event, step) : null
    const hasFailed = failure !== null || refused
    if (!step) {
      this.#endLater(event)
      return hasFailed
    }
    step.hasFailed = hasFailed
    step.exitCode = event.exitCode
    step.failure = failure
    step.isOpen = event.state === 'cut' || event.state === 'background'
    if (step.isTest) addTest(now.tests, step.subject, testVerdict(step, event))
    this.#noteKept(step, event)
    this.#steps.end(step)
    return hasFailed
  }

  /** Of what went on in the background after its first result. */
  #endLater(event: DigestEvent): void {
    if (event.call === null) return
    endTest(this.#now.tests, event)
    this.#work.end(event)
  }

  #noteFailure(event: DigestEvent, step?: Step): string | null {
    const { failures } = this.#now
    const how = { text: fullText(event), command: step?.subject ?? '', exitCode: event.exitCode }
    if (step?.does === 'shell' && isMereNo(how)) return null
    const failure = failureOf(toolClass(step ?? event), how)
    const known = entryOf(failures, failure.fingerprint, () => ({
      ...failure,
      tool: event.tool,
      seqs: noSeqs(),
      firstAt: event.ts,
      lastAt: event.ts,
    }))
    addSeq(known.seqs, event.seq)
    known.lastAt = event.ts ?? known.lastAt
    prune(failures, KEPT.failures, (a, b) => b.seqs.count - a.seqs.count || (b.lastAt ?? 0) - (a.lastAt ?? 0))
    return failure.fingerprint
  }

  /** Commits and pull requests, where the command may have made one and its output shows it. */
  #noteKept(step: Step, result: DigestEvent): void {
    const keeps = result.mark === 'made' ? (step.keeps ?? {}) : step.keeps
    if (step.hasFailed || !keeps) return
    const { commits, pullRequests } = keptIn(keeps, result)
    const seqs = [step.seq, result.seq]
    const list = this.#now.commits
    for (const commit of commits) list.push({ ...commit, seqs })
    if (list.length > KEPT.commits) list.splice(0, list.length - KEPT.commits)
    this.#notePullRequests(pullRequests, seqs)
  }

  #notePullRequests(urls: readonly string[], seqs: number[]): void {
    const list = this.#now.pullRequests
    for (const url of urls) {
      let known = list.find((one) => one.url === url)
      if (!known) {
        known = { url, seqs: noSeqs() }
        list.push(known)
      }
      for (const seq of seqs) addSeq(known.seqs, seq)
    }
    if (list.length > KEPT.pullRequests) list.splice(0, list.length - KEPT.pullRequests)
  }
}

const newState = (): State => ({
  eventCount: 0,
  kindCounts: {},
  toolHistogram: new Map(),
  tests: noTests(),
  commits: [],
  pullRequests: [],
  failures: new Map(),
  compactions: noSeqs(),
  agents: new Map(),
  interrupts: noSeqs(),
  denials: noSeqs(),
  interventions: noSeqs(),
  requestRetries: noSeqs(),
  work: noWork(),
  active: noTime(),
  ending: newEnding(),
  open: { waiting: [], late: [] },
  firstPrompt: null,
  inheritedPrompt: null,
  stopped: false,
  lastAnswer: null,
})

/** Maps stand as lists of their entries; which ones they are is known, so that no value has to be looked at. */
function load(saved: string): State {
  const state = parseStored<State>(saved)
  const { tests, ending, work } = state
  state.toolHistogram = new Map(state.toolHistogram)
  state.failures = new Map(state.failures)
  state.agents = new Map(state.agents)
  tests.byCommand = new Map(tests.byCommand)
  ending.open = new Map(ending.open)
  work.files = new Map(work.files)
  work.commands = new Map(work.commands)
  work.loops = new Map(work.loops)
  work.tools = new Map(work.tools)
  work.lastFailures = new Map(work.lastFailures)
  return state
}

const listMaps = (_: string, value: unknown): unknown => (value instanceof Map ? [...value] : value)
