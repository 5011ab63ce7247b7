// What the calls of a session add up to: files, commands, loops of failures, tools that never work, and what overcame a
// failure. One call at a time, in order, in bounded room.
import { entryOf, prune } from './bounded.ts'
import { type DigestEvent, toolClass } from './event.ts'
import { Mending, type MendState, noMending } from './mending.ts'
import { addSeq, noSeqs, type Seqs } from './seqs.ts'
import type { Step } from './step.ts'

export interface FileFact {
  path: string
  touches: number
  seqs: Seqs
  /** Edits that did not fail. */
  edits: Seqs
  /** Of the last call, as in `WorkState`: seqs do not tell what came later. */
  order: number
}

export interface CommandFact {
  command: string
  failures: number
  verdict: 'passed' | 'failed' | 'unknown'
  seqs: Seqs
  order: number
}

/** A run without an exit code: it may end later, in the background. */
interface Unended {
  call: string
  seq: number
  command: string
}

/** The same call failing again and again. */
export interface LoopFact {
  subject: string
  /** The failures since it last succeeded, and the longest row of them before. */
  run: Seqs
  longest: Seqs
  order: number
}

export interface ToolFact {
  hasSucceeded: boolean
  failures: Seqs
}

export interface WorkState {
  /** Edits that did not fail. */
  editCount: number
  files: Map<string, FileFact>
  commands: Map<string, CommandFact>
  /** The last ones. */
  unended: Unended[]
  loops: Map<string, LoopFact>
  tools: Map<string, ToolFact>
  mending: MendState
  order: number
}

const KEPT = { files: 300, commands: 150, unended: 64, loops: 100, tools: 300 }
export const LOOP_FROM = 3

export const noWork = (): WorkState => ({
  editCount: 0,
  files: new Map(),
  commands: new Map(),
  unended: [],
  loops: new Map(),
  tools: new Map(),
  mending: noMending(),
  order: 0,
})

export class Work {
  readonly #state: WorkState
  readonly #mending: Mending

  constructor(state: WorkState) {
    this.#state = state
    this.#mending = new Mending(state.mending)
  }

  add(step: Step): void {
    this.#state.order++
    for (const path of new Set([...step.files, ...step.writes])) this.#addFile(path, step)
    if (isMade(step)) this.#state.editCount++
    if (step.does === 'shell') this.#addCommand(step)
    if (step.isOpen) return
    this.#addLoop(step)
    this.#addTool(step)
    this.#mending.add(step, this.#state.order)
  }

  /** How a command ended that went on after its first result. */
  end(event: DigestEvent): void {
    const hasFailed = event.kind === 'error' || (event.exitCode ?? 0) !== 0
    if (event.call === null || (event.exitCode === null && !hasFailed)) return
    const { unended, commands } = this.#state
    const at = unended.findLastIndex((one) => one.call === event.call)
    const [run] = at === -1 ? [] : unended.splice(at, 1)
    const command = run && commands.get(run.command)
    if (!command) return
    if (hasFailed) command.failures++
    if (lastOf(command.seqs) === run.seq) command.verdict = hasFailed ? 'failed' : 'passed'
  }

  #addFile(path: string, step: Step): void {
    const { files, order } = this.#state
    const file = entryOf(files, path, () => ({ path, touches: 0, seqs: noSeqs(), edits: noSeqs(), order }))
    file.order = order
    file.touches++
    addSeq(file.seqs, step.seq)
    const isChanged = step.does === 'edit' || step.writes.includes(path)
    if (isChanged && isMade(step)) addSeq(file.edits, step.seq)
    prune(
      files,
      KEPT.files,
      (a, b) => b.edits.count - a.edits.count || b.touches - a.touches || b.order - a.order,
    )
  }

  #addCommand(step: Step): void {
    const { commands, order } = this.#state
    const command = entryOf(commands, step.subject, () => ({
      command: step.subject,
      failures: 0,
      verdict: 'unknown' as const,
      seqs: noSeqs(),
      order,
    }))
    command.order = order
    addSeq(command.seqs, step.seq)
    if (step.hasFailed) command.failures++
    if (step.isOpen) command.verdict = 'unknown'
    else if (step.hasFailed !== null) command.verdict = step.hasFailed ? 'failed' : 'passed'
    if (step.hasFailed === false && step.exitCode === null && step.call !== null) {
      const { unended } = this.#state
      unended.push({ call: step.call, seq: step.seq, command: step.subject })
      if (unended.length > KEPT.unended) unended.shift()
    }
    prune(commands, KEPT.commands, (a, b) => b.seqs.count - a.seqs.count || b.order - a.order)
  }

  #addLoop(step: Step): void {
    const { loops, order } = this.#state
    const key = `${toolClass(step)}\0${step.subject}`
    if (step.hasFailed) {
      const loop = entryOf(loops, key, () => ({
        subject: step.subject,
        run: noSeqs(),
        longest: noSeqs(),
        order,
      }))
      loop.order = order
      addSeq(loop.run, step.seq)
      prune(loops, KEPT.loops, (a, b) => longestOf(b).count - longestOf(a).count || b.order - a.order)
      return
    }
    const loop = loops.get(key)
    if (!loop) return
    loop.longest = longestOf(loop)
    loop.run = noSeqs()
    if (loop.longest.count < LOOP_FROM) loops.delete(key)
  }

  #addTool(step: Step): void {
    if (step.hasFailed === null) return
    const { tools } = this.#state
    const tool = entryOf(tools, step.tool, () => ({
      hasSucceeded: false,
      failures: noSeqs(),
    }))
    if (step.hasFailed) {
      if (!tool.hasSucceeded) addSeq(tool.failures, step.seq)
    } else if (!tool.hasSucceeded) {
      tool.hasSucceeded = true
      tool.failures = noSeqs()
    }
    prune(tools, KEPT.tools, (a, b) => b.failures.count - a.failures.count)
  }
}

/** An edit that did not fail, as far as is known. */
const isMade = ({ does, writes, hasFailed, isOpen }: Step): boolean =>
  (does === 'edit' || writes.length > 0) && !hasFailed && !isOpen

export const longestOf = ({ run, longest }: LoopFact): Seqs => (run.count > longest.count ? run : longest)

const lastOf = ({ first, last }: Seqs): number => last.at(-1) ?? first.at(-1) ?? 0
