// The failures of a session, each once, with where it was seen: those that a call ended with, and those that its end hides.
import { entryOf, prune } from './bounded.ts'
import { type Failure, failureOf, type HowItFailed, isMereNo } from './errors.ts'
import { type DigestEvent, fullText } from './event.ts'
import { type Failing, failingOf } from './failing.ts'
import {
  failureInJson,
  failureInReport,
  isChecking,
  isOfPowerShell,
  isToCheck,
  mayHide,
  providerError,
  reportedIn,
  saidByPowerShell,
  saidByProgram,
  saidByShell,
  wrongCallIn,
} from './hidden.ts'
import { isFiltered, isReading } from './reading.ts'
import { addSeq, noSeqs, type Seqs } from './seqs.ts'
import type { Step } from './step.ts'
import { tellingLine } from './telling.ts'
import { failureCountIn, hidesExit } from './tests.ts'

export interface FailureFact extends Failure {
  tool: string | null
  seqs: Seqs
  firstAt: number | null
  lastAt: number | null
}

export interface LastNoted {
  key: string
  seq: number
}

const KEPT = 120

export class Failures {
  readonly #known: Map<string, FailureFact>
  readonly #last: LastNoted

  /** By fingerprint and what they are about. */
  constructor(known: Map<string, FailureFact>, last: LastNoted) {
    this.#known = known
    this.#last = last
  }

  /** The failure a call ended with; null where it is none. */
  note(event: DigestEvent, step?: Step): Failing | null {
    const isShell = step?.does === 'shell'
    const how = { text: fullText(event), command: isShell ? step.asked : '', exitCode: event.exitCode }
    // Without its step it is the end of a command that went on; without a call the client's own.
    const isCommand = isShell || (step === undefined && event.call !== null)
    return isCommand && isMereNo(how) ? null : this.#add(event, how, step)
  }

  /** Of a failure although the call ended well. */
  noteHidden(event: DigestEvent, step: Step): Failing | null {
    const line = event.state === 'ok' || event.state === null ? hiddenIn(event, step) : undefined
    return line === undefined ? null : this.#add(event, { text: line }, step, fullText(event))
  }

  #add(event: DigestEvent, how: HowItFailed, step: Step | undefined, text = how.text): Failing {
    const failure = failureOf(how)
    const key = `${failure.fingerprint}\0${failure.about}`
    // Who waits for a command is told its end, and then the command itself ends with the same words.
    const isTold = step === undefined && this.#last.key === key && this.#last.seq === event.seq - 1
    Object.assign(this.#last, { key, seq: event.seq })
    const known = entryOf(this.#known, key, () => ({
      ...failure,
      tool: event.tool,
      seqs: noSeqs(),
      firstAt: event.ts,
      lastAt: event.ts,
    }))
    if (!isTold) addSeq(known.seqs, event.seq)
    known.lastAt = event.ts ?? known.lastAt
    prune(this.#known, KEPT, (a, b) => b.seqs.count - a.seqs.count || (b.lastAt ?? 0) - (a.lastAt ?? 0))
    return failingOf(key, failure.sample, failure.about, text)
  }
}

/** The line that tells of a failure behind an exit code of 0; most results need not be read for it. */
function hiddenIn(event: DigestEvent, step: Step): string | undefined {
  if (step.does === 'spawn')
    return (
      providerError(event.summary) ?? (isToCheck(step.asked) ? failureInReport(fullText(event)) : undefined)
    )
  if (step.does !== 'shell' || !mayHide(step.asked)) return undefined
  const told = isOfPowerShell(step.asked) ? saidByPowerShell(step.asked, fullText(event)) : undefined
  if (told !== undefined || !hidesExit(step.asked) || isReading(step.asked)) return told
  // Who runs the programs speaks for itself, unless another one was to come in that case.
  const text = fullText(event)
  const missing = step.asked.includes('||')
    ? undefined
    : (saidByShell(text) ?? saidByProgram(step.asked, text))
  if (missing !== undefined) return missing
  const checks = isChecking(step.asked)
  // Of others, what is shown has to be their own words.
  if (!checks && !step.isTest && isFiltered(step.asked)) return undefined
  const said = failureInJson(text) ?? wrongCallIn(text) ?? (checks ? reportedIn(text) : undefined)
  const counted = step.isTest ? failureCountIn(text) : undefined
  return said ?? (counted && (tellingLine(text) || counted))
}
