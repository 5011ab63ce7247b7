// What a client does not write down: [story, difference, why]. docs/sources.md says the same for people.
const ANY = /./
const NO_GIT = [ANY, /^branch is null$/, 'no git in its files']
const NO_SIGNAL = [/interrupted/i, /^no interrupt is told$/, 'the signal ends it without a word']
const STEP = [
  /^parallel/,
  /^(?:answer|call|result) is .*(?:Both|echo quick|sleep)/,
  'a step is written when all of it has ended',
]
const UNCOUNTED = [/killed|^parallel/i, /^tokens: /, 'a response whose tools were killed has no tokens']
const EMPTY = [/silent/, /^tokens: /, 'an answer without words is tried again, and not counted']
const GLUED = [/cut/, /^answer .*(?:novel)/, 'a cut answer and the one after it are one text']
const NOT_TRIED = [/silent|cut/, /answers were not asked for/, 'it takes that for an end']
const ENDED = [/^parallelInterrupted/, NO_SIGNAL[1], 'at times the signal ends it as a kill does']
const BELOW = [/nested/, /SUBTASK-C/, 'sub-agents have none of their own']

export const LOSSES = {
  cline: [
    STEP,
    [/killedBelow/, /^(?:answer|call|tokens)/, 'what a sub-agent did is written when it has ended'],
    [/silent|cut/, /^(?:answer|tokens)/, 'the answer that failed ends the session'],
  ],
  continue: [
    NO_GIT,
    [ANY, /^thought /, 'thoughts are dropped'],
    [
      ANY,
      /^(?:call ends as ok: Bash .*exit \d|exit code is null)/,
      'it tells the code of what wrote to stderr alone',
    ],
    NO_SIGNAL,
    GLUED,
    EMPTY,
    NOT_TRIED,
    [/killed|interrupted|errors/i, ANY, 'nothing is written before a normal end'],
    [/full/, /^"Fork .*is no fork of/, 'a fork names no parent'],
  ],
  copilot: [NOT_TRIED, [/silent/, /^answer/, 'an answer that was too long is not written']],
  droid: [
    [ANY, /^branch is null$/, 'no git in its files'],
    [ANY, /^model is custom:/, 'the name of its own list'],
    NO_SIGNAL,
    STEP,
    NOT_TRIED,
    [
      /nested|killedBelow|subagents/,
      /SUBTASK|sub-agents|tokens|answer|call/,
      'its daemon is not reached without an account',
    ],
  ],
  gemini: [
    NO_GIT,
    [/killed|interrupted/i, /^call is found 0 times: /, 'calls are written when they have ended'],
    NO_SIGNAL,
    BELOW,
    NOT_TRIED,
    [/clockSetBack/, ANY, 'it deletes sessions whose time lies ahead when the next one begins'],
  ],
  goose: [
    NO_GIT,
    NO_SIGNAL,
    STEP,
    UNCOUNTED,
    [ANY, /^tokens: what came from a cache/, 'one total per session'],
    [/uncounted/, /^tokens: /, 'it takes what the first event of an answer said'],
    [/killedBelow/, ANY, 'the call of a sub-agent is written when it has ended: nothing leads to it'],
    NOT_TRIED,
  ],
  kilo: [NO_GIT, UNCOUNTED, NOT_TRIED, BELOW, ENDED],
  kimi: [NO_GIT, EMPTY, [/killedBelow/, /^result/, 'the client was killed while it ran']],
  letta: [
    NO_GIT,
    NO_SIGNAL,
    STEP,
    NOT_TRIED,
    [/wrong/, /no_such_tool/, 'a tool that is not there is no failure to it'],
    [/sameIds/, ANY, 'it writes calls over others with the same id'],
    [/killedBelow/, /SUBTASK-A|sessions|sub-agents/, 'nothing leads to a sub-agent whose call has not ended'],
  ],
  omp: [
    NO_GIT,
    EMPTY,
    STEP,
    [
      /nested|killedBelow/,
      /sub-agents|B counts|_bash|^tokens/,
      'sub-agents in the background end with the program',
    ],
  ],
  opencode: [
    NO_GIT,
    UNCOUNTED,
    NOT_TRIED,
    BELOW,
    [/wrong/, /no_such_tool/, 'it calls its tool `invalid` instead'],
    ENDED,
    [/killedBelow/, /^result/, 'the client was killed while it ran'],
  ],
  pi: [NO_GIT, NO_SIGNAL, STEP, NOT_TRIED],
  'pi-0.73': [NO_GIT, NO_SIGNAL, STEP, NOT_TRIED],
  qwen: [
    [/interruptedStream/, NO_SIGNAL[1], 'it does not react to the signal with a word'],
    STEP,
    GLUED,
    EMPTY,
    [/killedBelow/, /^tokens: /, 'what its memory agent says is no conversation, what answers a notice is'],
  ],
}
