// What a client does not write down: [story, difference, why]. docs/sources.md says the same for people.
const ANY = /./
const NO_GIT = [ANY, /^branch is null$/, 'no git in its files']
const NO_SIGNAL = [/interrupted/, /^no interrupt is told$/, 'the signal ends it without a word']

const UNCOUNTED = [/killedTool/, /^tokens: /, 'a response whose tools were killed has no tokens']

export const LOSSES = {
  gemini: [
    NO_GIT,
    [
      /(?:interrupted|killed)Tool/,
      /^call is found 0 times: .*sleep/,
      'calls are written when they have ended',
    ],
    NO_SIGNAL,
  ],
  goose: [NO_GIT, NO_SIGNAL, [ANY, /^tokens: what came from a cache/, 'one total per session']],
  kilo: [NO_GIT, UNCOUNTED],
  kimi: [NO_GIT],
  letta: [NO_GIT],
  omp: [NO_GIT],
  opencode: [NO_GIT, UNCOUNTED],
  pi: [NO_GIT, NO_SIGNAL],
  qwen: [[/interruptedStream/, NO_SIGNAL[1], 'it does not react to the signal with a word']],
}
