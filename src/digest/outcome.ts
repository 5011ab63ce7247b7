// Outcome of a session, by rules over how it ended: the last turn, tests, errors, interrupts, lifecycle. The first rule
// that fits decides. Where the transcript does not tell, the answer is `unknown`. docs/outcome.md explains each rule
// and publishes how often they are right.
import type { Outcome } from '../model.ts'
import type { Facts } from './facts.ts'
import { cited } from './seqs.ts'

export interface OutcomeVerdict {
  outcome: Outcome
  /** 0 to 1: how often a verdict of this rule is expected to be right. */
  confidence: number
  /** Name of the rule, as in docs/outcome.md. */
  rule: string
  /** The same in words. */
  reason: string
  seqs: number[]
}

export interface OutcomeOptions {
  /** What the program that ran the session says itself. */
  told?: Outcome | null | undefined
  /** Where an event stands in the conversation; by default its number says it. */
  placeOf?: ((seq: number) => number) | undefined
}

export function outcomeOf(
  facts: Facts,
  { told = null, placeOf = (seq) => seq }: OutcomeOptions = {},
): OutcomeVerdict {
  const { ending } = facts
  const verdict = (
    outcome: Outcome,
    confidence: number,
    rule: string,
    ...seqs: (number | null)[]
  ): OutcomeVerdict => ({
    outcome,
    confidence,
    rule,
    reason: reasonOf(rule, facts),
    seqs: [...new Set(seqs.filter((seq) => seq !== null))],
  })
  // The event that says so comes last; that a session is still under way no event says.
  if (told !== null) return verdict(told, 1, 'told', told === 'unknown' ? null : ending.lastSeq)
  if (ending.last === null) return verdict('unknown', 0, 'nothing-happened')
  const { what, seq } = ending.last
  if (what === 'interrupt') return verdict('abandoned', 0.95, 'interrupted', seq)
  if (what === 'cut') return verdict('abandoned', 0.9, 'cut-off', seq)
  if (what === 'error') return verdict('fail', 0.95, 'ended-by-error', seq)
  if (what === 'prompt') return verdict('abandoned', 0.85, 'prompt-unanswered', seq)
  if (ending.openCalls.length > 0 && what !== 'answer' && what !== 'completion')
    return verdict('abandoned', 0.85, 'call-unfinished', ...ending.openCalls)
  if (what === 'work') return verdict('abandoned', 0.75, 'no-closing-answer', seq)
  const isInTurn = (seq: number): boolean => placeOf(seq) > placeOf(ending.promptSeq ?? 0)
  return answered(facts, verdict, isInTurn)
}

type Say = (outcome: Outcome, confidence: number, rule: string, ...seqs: (number | null)[]) => OutcomeVerdict

/** The agent had the last word: what it reached is told by tests, by what was kept, then by its own words. */
function answered(facts: Facts, say: Say, isInTurn: (seq: number) => boolean): OutcomeVerdict {
  const { ending, lastAnswer } = facts
  const answer = lastAnswer?.seq ?? null
  const words = lastAnswer?.text ?? ''
  const turn = ending.turn
  const test = facts.tests.lastTold
  const testInTurn = test !== null && ending.promptSeq !== null && isInTurn(test.seq)
  if (admitsFailure(words)) return say('fail', 0.8, 'says-it-could-not', answer)
  if (testInTurn && test.verdict === 'failed') {
    return claimsDone(words)
      ? say('unknown', 0.4, 'tests-fail-but-done', test.seq, answer)
      : say('fail', 0.8, 'tests-fail', test.seq, answer)
  }
  if (turn.callCount > 0 && turn.failedCount === turn.callCount)
    return say('fail', 0.75, 'every-call-failed', ...turn.failedSeqs)
  if (testInTurn) return say('success', 0.95, 'tests-pass', test.resultSeq ?? test.seq, answer)
  const kept = [
    ...facts.commits.flatMap((one) => one.seqs),
    ...facts.pullRequests.flatMap((one) => cited(one.seqs)),
  ].filter(isInTurn)
  if (kept.length > 0) return say('success', 0.9, 'work-kept', ...kept.slice(0, 4), answer)
  if (turn.editCount === 0 && needsMore(words)) return say('unknown', 0.4, 'asks-back', answer)
  if (claimsDone(words)) return say('success', 0.85, 'says-it-is-done', answer)
  if (ending.last?.what === 'answer' && announcesMore(words))
    return say('unknown', 0.4, 'announces-more', answer)
  if (asksBack(words) && turn.editCount === 0 && (turn.isOnly || words.length < 160))
    return say('unknown', 0.4, 'asks-back', answer)
  if (isCall(words)) return say('fail', 0.7, 'call-written-down', answer)
  if (isData(words) && turn.callCount > 0) return say('unknown', 0.4, 'answers-in-data', answer)
  if (turn.hasLastFailed) return say('unknown', 0.4, 'last-call-failed', ...turn.failedSeqs.slice(-1), answer)
  if (turn.editCount > 0) return say('success', 0.8, 'edited-and-answered', answer)
  return say('success', 0.7, 'answered', answer)
}

const REASONS: Record<string, string> = {
  told: 'the program that ran it says so',
  'nothing-happened': 'nothing was asked or done',
  interrupted: 'somebody stopped it',
  'cut-off': 'it was cut off before its end',
  'ended-by-error': 'the client or the provider failed',
  'prompt-unanswered': 'the last prompt has no answer',
  'call-unfinished': 'a call never came back',
  'no-closing-answer': 'it ended in the middle of the work',
  'says-it-could-not': 'the answer says that it could not be done',
  'tests-fail-but-done': 'the answer says done, but the last tests fail',
  'tests-fail': 'the last tests fail',
  'every-call-failed': 'every call failed',
  'announces-more': 'the last answer announces more',
  'asks-back': 'it ended with a question',
  'call-written-down': 'the last answer is a call that was never made',
  'answers-in-data': 'the answer is data for a program',
  'last-call-failed': 'the last call failed or was refused',
}

/** What was reached, and whether anything checked it. */
function reasonOf(rule: string, { tests, commits, pullRequests, spawnCount }: Facts): string {
  const known = REASONS[rule]
  if (known !== undefined) return known
  const kept = commits.length > 0 ? ', committed' : pullRequests.length > 0 ? ', pull request opened' : ''
  if (rule === 'tests-pass') return `tests passed${kept}`
  const done = {
    'says-it-is-done': 'says it is done',
    'edited-and-answered': 'files changed',
    answered: 'answered',
  }[rule]
  // A sub-agent may have run some.
  const unchecked = spawnCount > 0 ? ', no tests seen' : ', nothing checked'
  const checked = tests.lastTold?.verdict === 'passed' ? ', tests passed before' : unchecked
  return done === undefined ? `${kept.slice(2)}${checked}` : `${done}${kept}${checked}`
}

const COULD_NOT =
  /\b(?:but we (?:can(?:['’]t|not)|could(?:n['’]t| not))|I(?:['’]m| am) (?:sorry|afraid|unable|not able|not allowed)|I (?:can(?:['’]t|not)|could(?:n['’]t| not)|was(?:n['’]t| not) (?:able|allowed|permitted)|was unable|don['’]t (?:(?:actively|currently|really) )?(?:see any|have (?:direct |live |any )?(?:access|permission|internet|network)))|(?:it|that|this|which|command|package) (?:can(?:['’]t|not)|could(?:n['’]t| not)) be (?:run|executed|opened|started|installed|reached)|(?:unable|failed) to complete|gave up|(?:found|returned) no(?: \w+){0,2} (?:results?|match(?:es)?)|no(?: \w+){0,2} (?:results?|match(?:es)?) (?:were )?(?:found|returned)|did(?:n['’]t| not) find any|sandbox (?:and|so I) can(?:['’]t|not)|can(?:['’]t|not) (?:fetch|reach|access) (?:live|the (?:web|internet|network)))\b/i
const AT_THE_START = 240

/** Only the beginning counts: reports of success name what could not be done further down. */
const admitsFailure = (words: string): boolean => COULD_NOT.test(words.slice(0, AT_THE_START))

const DONE =
  /\b(?:done|fixed|complete[d]?|finished|implemented|added|updated|created|wrote|written|removed|renamed|installed|enabled|configured|resolved|addressed|submitted|merged|pushed|refactored|all (?:\w+ )?tests pass(?:ed)?|now (?:works?|passes|uses?|supports?))\b|[✅✔]/i

const claimsDone = (words: string): boolean => DONE.test(words.slice(0, 600))

/** What a tool is given, and nothing else: said instead of called. */
const isCall = (words: string): boolean =>
  words.length < 400 &&
  /^\s*\{[\s\S]*\}\s*$/.test(words) &&
  /^\s*\{\s*"(?:query|queries|command|cmd|file_path|url|arguments|max_results|pattern|workdir)":/.test(words)

/** Output meant for a program, or for a person: nobody can tell which. */
const isData = (words: string): boolean => /^\s*[[{][\s\S]*[\]}]\s*$/.test(words)

/** An answer that ends by offering more has answered. */
function asksBack(words: string): boolean {
  const opening = words.trimStart().split('\n', 1)[0] ?? ''
  return opening.trimEnd().endsWith('?') && opening.length < 600
}

const NEEDS =
  /\b(?:I(?:['’]d| would)? (?:still )?need|need|requires?) (?:more|some|a few|additional|further) (?:\w+ )?(?:details?|info(?:rmation)?|context|instructions?)\b/i
const WHAT_NOW =
  /\b(?:what would you like (?:me )?to (?:do|work on|run|build|change|help)|how can I (?:help|assist)|what should I (?:run|do|work on|inspect)|(?:could|can) you (?:please )?(?:clarify|specify|tell me (?:more|what)))\b/i
const SHORT = 300

/** It did not begin for want of words: an answer that only ends so has answered. */
const needsMore = (words: string): boolean =>
  NEEDS.test(words.slice(0, SHORT)) || (words.length < SHORT && WHAT_NOW.test(words))

const NEXT =
  /^(?:Starting|Looking|Running|Checking|First,|Let me|Let['’]s|Now (?:I|let)|I(?:['’]ll| will) (?:start|begin|now|check|look|run)\b)/i

/** A word before the deed: where the client never said that the turn was over, it may have been cut off here. */
const announcesMore = (words: string): boolean => words.length < 160 && NEXT.test(words)
