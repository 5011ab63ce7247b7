// One pass over a session's events: what was asked, done, run, changed and said, with the seqs that show it. Pure: it
// knows nothing of a store. Superseded and inherited events are not the session's own and are left out; what sub-agents
// did inside the session counts as its work, but not as its conversation.
// The pass can stop, be kept as text, and go on later from there with the same result: a line added to a long session
// costs what the line costs. For that its state stays small however long the session gets.
import { parseStored } from '../errors.ts'
import type { Body } from '../event/body.ts'
import { isTestCommand } from '../event/test-command.ts'
import { subjectOf } from '../event/words.ts'
import { type EventKind, isCall, isCallKind } from '../model.ts'
import { type ActiveTime, activeMs, addTime, noTime } from './active.ts'
import { Asked, type AskedState, newAsked, type Spoken } from './asked.ts'
import { entryOf, prune } from './bounded.ts'
import { Ending, type EndingFacts, type EndingState, newEnding } from './ending.ts'
import { type DigestEvent, isRefusal, isResult, isStop } from './event.ts'
import { type FailureFact, Failures, type LastNoted } from './failures.ts'
import { isToCheck } from './hidden.ts'
import { type Commit, headIn, keptIn, mayKeep, merges, onlyTouchesRequest, pullRequestsIn } from './kept.ts'
import { isMeantToFail } from './meant.ts'
import { isReading } from './reading.ts'
import { addSeq, noSeqs, type Seqs } from './seqs.ts'
import { type OpenSteps, type Step, StepQueue, toldAgent } from './step.ts'
import {
  addTest,
  endTest,
  hidesExit,
  mayTest,
  noTests,
  showsTests,
  type TestState,
  testNameOf,
  testVerdict,
} from './tests.ts'
import { noWork, Work, type WorkState } from './work.ts'
import { writesIn } from './writes.ts'

interface Counted {
  eventCount: number
  kindCounts: Partial<Record<EventKind, number>>
  toolHistogram: Map<string, number>
  tests: TestState
  commits: (Commit & { seqs: number[] })[]
  pullRequests: { url: string; seqs: Seqs }[]
  /** By fingerprint and what it is about. */
  failures: Map<string, FailureFact>
  compactions: Seqs
  agents: Map<string, { agent: string; eventCount: number; seqs: number[] }>
  interrupts: Seqs
  denials: Seqs
  interventions: Seqs
  requestRetries: Seqs
  /** Sub-agents that were started: what they did may be told elsewhere. */
  spawnCount: number
  work: WorkState
}

export interface Facts extends Counted {
  firstPrompt: Spoken | null
  lastAnswer: Spoken | null
  asked: AskedState
  /** Time in which something happened. */
  activeMs: number
  ending: EndingFacts
}

/** All there is to know to go on; plain data and maps. */
interface State extends Counted {
  active: ActiveTime
  ending: EndingState
  open: OpenSteps
  asked: AskedState
  /** Whom a person stopped and who has not gone on since (null: the session's own agent); false for nobody. */
  stopped: string | null | false
  lastFailure: LastNoted
  /** What the agent said last, and has not acted upon yet. */
  justSaid: string
}

/** What shows that the agent was let go on. */
const carriesOn = (kind: EventKind): boolean =>
  isCallKind(kind) || kind === 'user_msg' || kind === 'assistant_msg' || kind === 'thinking'
const MAX_STEP_FILES = 100
const COMMAND_LENGTH = 2000
const SAID_LENGTH = 400
const KEPT = { tools: 500, agents: 200, commits: 100, pullRequests: 50 }

export class Gatherer {
  readonly #now: State
  readonly #ending: Ending
  readonly #work: Work
  readonly #failures: Failures
  readonly #steps: StepQueue
  readonly #asked: Asked

  /** From the beginning, or from what `save` gave. */
  constructor(saved?: string) {
    this.#now = saved === undefined ? newState() : load(saved)
    this.#asked = new Asked(this.#now.asked)
    this.#ending = new Ending(this.#now.ending)
    this.#work = new Work(this.#now.work)
    this.#failures = new Failures(this.#now.failures, this.#now.lastFailure)
    this.#steps = new StepQueue(this.#now.open, (step) => this.#work.add(step))
  }

  add(event: DigestEvent): void {
    if (event.isSuperseded) return
    const now = this.#now
    if (event.isInherited) {
      if (!event.isSidechain && !event.isPart) this.#asked.addInherited(event)
      return
    }
    now.eventCount++
    now.kindCounts[event.kind] = (now.kindCounts[event.kind] ?? 0) + 1
    if (event.ts !== null) addTime(now.active, event.ts)
    if (carriesOn(event.kind) && now.stopped === event.agent) now.stopped = false
    if (event.isSidechain) this.#noteAgent(event)
    else if (!event.isPart) this.#asked.add(event)
    let hasFailed = event.kind === 'error'
    const step = isResult(event) ? this.#steps.find(event.call) : undefined
    if (event.kind === 'assistant_msg') now.justSaid = event.summary.slice(0, SAID_LENGTH)
    if (isCall(event)) this.#begin(event)
    else if (isResult(event)) hasFailed = this.#end(event, step)
    else {
      this.#endLater(event)
      if (event.kind === 'error') this.#failures.note(event)
      else this.#noteRest(event)
    }
    this.#ending.add(event, hasFailed, hasFailed && step !== undefined && onlyLooks(step))
  }

  /** To go on from here another time. Before `finish`. */
  save(): string {
    this.#asked.read()
    return JSON.stringify(this.#now, listMaps)
  }

  /** The facts; nothing can be added afterwards. */
  finish(): Facts {
    this.#asked.read()
    this.#steps.drain()
    const {
      active,
      ending: _,
      open: __,
      stopped: ___,
      asked: ____,
      lastFailure: _____,
      justSaid: ______,
      ...counted
    } = this.#now
    return {
      ...counted,
      ...this.#asked.finish(),
      activeMs: activeMs(active),
      ending: this.#ending.finish(),
    }
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
    else if (event.mark === 'made' && !onlyTouchesRequest(this.#now.open.waiting))
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
    if (event.does === 'spawn') this.#now.spawnCount++
    const does = event.kind === 'edit' ? 'edit' : event.does
    // The row has the first line, or the beginning of it.
    const isCut = event.hasMore || subject.endsWith('…')
    const isWhole = does !== 'shell' || !(isCut || event.kind === 'test_run')
    const body = isWhole ? undefined : event.body()
    const command = body?.command ?? subject
    const isTest = does === 'shell' ? isTestCommand(command) : event.kind === 'test_run'
    const told = does === 'spawn' && isToCheck(subject) ? toldAgent(subject, event) : command
    const asked = does === 'shell' ? bothEnds(told) : told.slice(0, COMMAND_LENGTH)
    const writes = does === 'shell' ? writesIn(command) : []
    if (isTest) addTest(tests, testNameOf({ subject, asked }), null)
    this.#steps.begin({
      seq: event.seq,
      call: event.call,
      does,
      tool,
      subject,
      asked,
      files: event.files.slice(0, MAX_STEP_FILES),
      writes,
      isTest,
      mayTest: !isTest && does === 'shell' && mayTest(command) && !isReading(command),
      hidesExit: does === 'shell' && (isTest || mayTest(command)) && hidesExit(command),
      keeps: does === 'shell' ? mayKeep(command) : null,
      isSidechain: event.isSidechain,
      hasFailed: null,
      exitCode: null,
      isOpen: false,
      failure: null,
      foundNothing: false,
      isMeantToFail: isTest && isMeantToFail(command, [describedIn(body), this.#now.justSaid]),
    })
    this.#now.justSaid = ''
  }

  /** Whether the call failed; a search that found nothing did not. */
  #end(event: DigestEvent, step: Step | undefined): boolean {
    const now = this.#now
    const refused = isRefusal(event)
    if (event.kind === 'human_intervention') this.#noteIntervention(event, refused)
    if (event.state === 'refused' || event.mark === 'denied') addSeq(now.denials, event.seq)
    const isError = event.kind === 'error' && event.state !== 'cut'
    // Who was told no, or was ended with another, did not fail.
    const isEnded = event.state === 'refused' || event.state === 'stopped'
    const isFailure = isError && !isEnded && !step?.isMeantToFail
    const failure = isFailure ? this.#failures.note(event, step) : null
    const hasFailed = failure !== null || refused || (isError && isEnded)
    if (!step) {
      this.#endLater(event)
      return hasFailed
    }
    step.hasFailed = hasFailed
    step.exitCode = event.exitCode
    const isHidden = !(isError || refused || step.isMeantToFail)
    step.failure = failure ?? (isHidden ? this.#failures.noteHidden(event, step) : null)
    step.foundNothing = foundNothing(step, event)
    step.isOpen = event.state === 'cut' || event.state === 'background'
    this.#noteTest(step, event)
    this.#asked.look(step, event)
    this.#noteKept(step, event)
    this.#steps.end(step)
    return hasFailed
  }

  #noteTest(step: Step, result: DigestEvent): void {
    const isTest = step.isTest || (step.mayTest && showsTests(result))
    const test = isTest ? testVerdict(step, result) : null
    if (test) addTest(this.#now.tests, test.command, test)
  }

  /** Of what went on in the background after its first result. */
  #endLater(event: DigestEvent): void {
    if (event.call === null) return
    endTest(this.#now.tests, event)
    this.#work.end(event)
  }

  /** Commits and pull requests, where the command may have made one and its output shows it. */
  #noteKept(step: Step, result: DigestEvent): void {
    const list = this.#now.commits
    const head =
      list.at(-1)?.sha === '' && step.does === 'shell' ? headIn(step.subject, result.summary) : undefined
    if (head) this.#nameCommit(head, result.seq)
    const keeps = result.mark === 'made' ? (step.keeps ?? {}) : step.keeps
    if (!keeps) return
    const { commits, pullRequests, pushed } = keptIn(keeps, result, step.hasFailed === true)
    const seqs = [step.seq, result.seq]
    for (const commit of commits) list.push({ ...commit, seqs })
    if (list.length > KEPT.commits) list.splice(0, list.length - KEPT.commits)
    if (pushed) this.#nameCommit({ sha: pushed, subject: '' }, result.seq)
    if (!merges(step.asked)) this.#notePullRequests(pullRequests, seqs)
  }

  /** What the last commit is called, where that was not shown when it was made. */
  #nameCommit({ sha, subject }: Commit, seq: number): void {
    const last = this.#now.commits.at(-1)
    if (last?.sha !== '') return
    last.sha = sha
    last.subject ||= subject
    last.seqs = [...last.seqs, seq]
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

/** What is put into a file or a program is often longer than the commands before and behind it. */
const bothEnds = (command: string): string =>
  command.length <= COMMAND_LENGTH
    ? command
    : `${command.slice(0, COMMAND_LENGTH / 2)}\n${command.slice(-COMMAND_LENGTH / 2)}`

/** What a call is for, where the client lets the agent say so. */
function describedIn(body: Body | undefined): string {
  const input = body?.input
  const told = typeof input === 'object' && input !== null && 'description' in input ? input.description : ''
  return typeof told === 'string' ? told : ''
}

const NOTHING = /^(?:exit \d+:?\s*|No (?:files|matches|results)(?: were)? found\b.*)?$/i

const onlyLooks = ({ does, asked }: Step): boolean =>
  does === 'search' || does === 'read' || (does === 'shell' && isReading(asked))

/** What was looked for is not there. */
function foundNothing(step: Step, result: DigestEvent): boolean {
  return ((result.exitCode ?? 0) !== 0 || NOTHING.test(result.summary.trim())) && onlyLooks(step)
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
  spawnCount: 0,
  work: noWork(),
  active: noTime(),
  ending: newEnding(),
  open: { waiting: [], late: [] },
  asked: newAsked(),
  stopped: false,
  lastFailure: { key: '', seq: 0 },
  justSaid: '',
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
  work.mending.failures = new Map(work.mending.failures)
  return state
}

const listMaps = (_: string, value: unknown): unknown => (value instanceof Map ? [...value] : value)
