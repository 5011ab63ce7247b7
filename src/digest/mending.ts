// What overcame a failure: the later call that tries the same and succeeds, and of what was changed on the way the one to
// three steps that matter. Nothing is told where no later call is known to try the same.
import { prune } from './bounded.ts'
import { snippet, toolClass } from './event.ts'
import type { Failing } from './failing.ts'
import { isChecking, isToCheck } from './hidden.ts'
import { putsAside } from './meant.ts'
import { type Change, fixes, isNamed, lastOf, mendOf, namedEdits, stemOf } from './mend-steps.ts'
import { type Done, goesRound, isMistyped, isSameCheck, overcomes, type Unmended } from './overcoming.ts'
import { isReading } from './reading.ts'
import type { Step } from './step.ts'
import { baseOf, normal, type Try, trialOf } from './trial.ts'

export interface MendState {
  /** By key. */
  failures: Map<string, Unmended>
  /** The last edits and commands that went well since something failed, on the main chain and beside it. */
  changes: { main: Change[]; side: Change[] }
}

const KEPT = 120
/** Of the failures that were not overcome yet, the last ones are looked at. */
const LOOKED_AT = 40
const MAX_CHANGES = 30
const MAX_FILES = 20
/** Of more edits between two runs of a check none is known to be the one. */
const MAX_BETWEEN = 6
const WHAT_LENGTH = 400

export const noMending = (): MendState => ({ failures: new Map(), changes: { main: [], side: [] } })

export class Mending {
  readonly #state: MendState
  #open: Set<string>

  constructor(state: MendState) {
    this.#state = state
    this.#open = new Set([...state.failures].filter(([, one]) => one.resolution === null).map(([key]) => key))
  }

  /** Each call once, in order, when its end is known. */
  add(step: Step, order: number): void {
    const { failure } = step
    if (failure === null && (this.#open.size === 0 || step.hasFailed !== false)) return
    const done: Done = { step, order, what: whatOf(step), isCheck: isCheck(step), trial: trialOf(step) }
    if (failure === null) this.#addSuccess(done)
    else {
      this.#addGone(done, failure)
      if (step.does === 'shell' && isDoneInPart(done, failure)) this.#change(done, 'run')
      this.#addFailure(done, failure)
    }
  }

  #addFailure({ step, order, what, isCheck: checks, trial }: Done, failure: Failing): void {
    const { failures } = this.#state
    failures.delete(failure.key)
    failures.set(failure.key, {
      ...failure,
      order,
      seq: step.seq,
      isSidechain: step.isSidechain,
      tool: toolClass(step),
      does: step.does,
      what,
      files: [...step.files, ...step.writes].slice(0, MAX_FILES).map(normal),
      trial,
      isCheck: checks,
      isTest: step.isTest,
      resolution: null,
    })
    this.#open.add(failure.key)
    if (prune(failures, KEPT, (a, b) => b.order - a.order))
      for (const key of this.#open) if (!failures.has(key)) this.#open.delete(key)
  }

  #addSuccess(done: Done): void {
    const { step } = done
    // What passes without the work says nothing of it.
    if (step.does === 'shell' && putsAside(step.asked)) return
    // A search that found nothing was made.
    if ((step.exitCode ?? 0) === 0 || !done.trial.isWriting)
      for (const failed of this.#waiting())
        if (overcomes(failed, done) || this.#isTested(failed, done) || this.#isChecked(failed, done))
          this.#resolve(failed, done, mendOf(failed, done, this.#since(failed)))
    const does = step.does === 'edit' ? 'edit' : step.does === 'read' ? 'read' : 'run'
    // Looking changes nothing; but some files have to be read before they may be changed.
    if (
      does === 'run' &&
      (step.does === 'shell' ? isReading(step.asked) : !(step.does === 'spawn' && fixes(step)))
    )
      return
    this.#change(done, does)
  }

  #change({ step, order, what }: Done, does: Change['does']): void {
    const ring = step.isSidechain ? this.#state.changes.side : this.#state.changes.main
    const files = [...step.files, ...step.writes].slice(0, MAX_FILES).map(normal)
    ring.push({ order, seq: step.seq, what, does, files, hasFailed: step.failure !== null })
    if (ring.length > MAX_CHANGES) ring.shift()
  }

  /** A check that fails with something else, and got as far: what was mended in between is no longer among what it says. */
  #addGone(done: Done, failure: Failing): void {
    for (const failed of this.#waiting())
      if (failed.key !== failure.key && isMistyped(failed, done))
        this.#resolve(failed, done, [{ seq: done.step.seq, what: done.what }])
    if (!done.isCheck) return
    for (const failed of this.#waiting()) {
      if (
        !failed.isCheck ||
        failed.kind !== 'other' ||
        failed.key === failure.key ||
        failed.stage > failure.stage
      )
        continue
      const [own] = failed.marks
      if ((own !== undefined && failure.marks.includes(own)) || goesRound(done.what, failed.what)) continue
      const edits = this.#since(failed).filter((one) => one.does === 'edit')
      const named = namedEdits(failed, edits)
      const isSame = isSameCheck(failed, done)
      // A report tells of every check, also of those that ran before.
      const isReported = failed.does === 'spawn' && done.step.does === 'spawn' && own !== undefined
      if (named.length > 0 && (isSame || isReported)) this.#resolve(failed, done, named)
      else if (isSame && failed.own === 0 && edits.length > 0 && edits.length <= MAX_BETWEEN)
        this.#resolve(failed, done, lastOf(edits))
    }
  }

  /** A program broke in a file that was changed since, or a test in it failed, and now the tests of that file pass. */
  #isTested(failed: Unmended, { isCheck: checks, trial }: Done): boolean {
    const isOfTests = failed.isCheck ? isOfTest(failed) : failed.does === 'shell'
    if (!checks || !isOfTests || failed.kind !== 'other') return false
    const words = trial.tries.flatMap((one) => one.words)
    return this.#since(failed).some(
      ({ does, files }) =>
        does === 'edit' &&
        files.some(
          (file) => isNamed(failed, file) && words.some((word) => baseOf(word).includes(stemOf(file))),
        ),
    )
  }

  /** What a check named was changed since, and another check by the same program, of as much or of all, passes. */
  #isChecked(failed: Unmended, { isCheck: checks, trial }: Done): boolean {
    if (!checks || !failed.isCheck || failed.kind !== 'other' || failed.own === 0) return false
    const isAsWide = trial.tries.some(
      (one) => one.isCheck && failed.trial.tries.some((own) => own.isCheck && isSameProgram(own, one)),
    )
    if (!isAsWide) return false
    const edits = this.#since(failed).filter((one) => one.does === 'edit')
    const own = { ...failed, names: failed.names.slice(0, failed.own) }
    return edits.some(({ files }) => files.some((file) => isNamed(own, file)))
  }

  #waiting(): Unmended[] {
    const keys = [...this.#open].slice(-LOOKED_AT)
    return keys.flatMap((key) => this.#state.failures.get(key) ?? [])
  }

  #since(failed: Unmended): Change[] {
    const { main, side } = this.#state.changes
    return (failed.isSidechain ? side : main).filter((one) => one.order > failed.order)
  }

  #resolve(failed: Unmended, { step }: Done, steps: { seq: number; what: string }[]): void {
    this.#open.delete(failed.key)
    // It is overcome, and nobody knows by what: not to be looked at again, also by who goes on from here.
    if (steps.length === 0) {
      this.#state.failures.delete(failed.key)
      return
    }
    failed.resolution = {
      failed_seq: failed.seq,
      resolved_seq: step.seq,
      steps: steps.map(({ seq, what }) => ({ seq, what })),
    }
  }
}

/** Of several commands the first went well: it is not the one that the failure is about. */
function isDoneInPart({ trial: { tries, isWriting } }: Done, { things, speaker }: Failing): boolean {
  const [first] = tries
  const isFirst =
    first && (first.name.split(' ')[0] === speaker || first.words.some((word) => things.includes(word)))
  return tries.length > 1 && isWriting && !isFirst
}

/** A linter has a code for what it found, whatever the file. */
const isOfTest = ({ marks }: Unmended): boolean =>
  marks.some((mark) => /^[Tt]est/.test(mark)) && !marks.some((mark) => /^[A-Z]{1,4}\d/.test(mark))

const isSameProgram = (failed: Try, now: Try): boolean =>
  failed.name.split(' ')[0] === now.name.split(' ')[0] &&
  (now.words.every((word) => /^\.*$/.test(word)) || failed.words.some((word) => now.words.includes(word)))

const isCheck = (step: Step): boolean =>
  step.isTest ||
  (step.does === 'shell' && isChecking(step.asked)) ||
  (step.does === 'spawn' && isToCheck(step.asked))

function whatOf(step: Step): string {
  if (step.does === 'edit') return snippet(`edit ${step.files.join(', ')}`, WHAT_LENGTH)
  return snippet(
    step.does === 'shell' ? step.asked : `${step.tool} ${step.asked === step.tool ? '' : step.asked}`,
    WHAT_LENGTH,
  )
}
