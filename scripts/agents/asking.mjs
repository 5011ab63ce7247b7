// What the scripted model asks of our MCP server, one call of each tool, and what must stand in the answers; and a failing call
// whose mend another session found, for the hook that recalls.
import { DIALECTS } from './dialects.mjs'

export const TAG = 'striped'
const DECISION = 'Zebras stay striped.'
const FIRST_ID = /\b\w+:[\w-]{20,}/

/** What is asked, in turn, and what the answer must hold: ids come from the first answer. */
export const wantedAfter = (results) => {
  const uid = FIRST_ID.exec(results.map(({ text }) => text).join(' '))?.[0]
  return [
    ['search', { query: 'zebra', repo: '*' }, /Remember the zebra/],
    ['context', { id: `${uid}#1` }, /Remember the zebra/],
    ['session', { id: uid }, /Remember the zebra/],
    ['digest', { id: uid }, /Remember the zebra/],
    ['lineage', { id: uid }, new RegExp(`${uid}`)],
    ['usage', { by: 'model' }, /\d/],
    ['patterns', { error: 'Error: the zebra lost its stripes' }, /not met before/],
    ['recall', { text: 'Remember the zebra, and which command failed.' }, /Nothing fits|past task/],
    ['decide', { text: DECISION, session: uid }, new RegExp(DECISION)],
    ['label', { tags: TAG, session: uid }, new RegExp(TAG)],
  ]
}

/** The last request holds all that was asked and answered before it. */
export function checkAsked(requests, check) {
  const longest = requests.reduce((most, one) => (one.results?.length > most.length ? one.results : most), [])
  const answers = longest.filter(({ text }) => text.includes('notice'))
  const asked = wantedAfter(answers)
  for (const [at, [name, , expected]] of asked.entries())
    check(`${name} is called, and answers`, expected.test(answers[at]?.text ?? ''))
}

const FAILURE = 'Error: the zorblat register of the loom is not calibrated'
const OTHER = 'Error: the quibble spindle of the mill ran dry'
const failing = (file, error) => `test -f ${file} && echo woven || { echo '${error}' >&2; exit 3; }`
/** What the hook hands to the agent. */
const HINT = 'The same failure was overcome before'

/** The scripted model of these sessions: `MEND` fails, mends it, and tries again; `FAIL` and `OTHER` only fail. */
export function failingAnswer(name, { prompt, results }) {
  const { shell } = DIALECTS[name]
  const weave = failing('calibrated', FAILURE)
  const last =
    prompt
      .trimEnd()
      .split('\n')
      .findLast((line) => /\b(?:MEND|FAIL|OTHER)\b/.test(line)) ?? ''
  const steps = /\bMEND\b/.test(last)
    ? [weave, 'touch calibrated', weave]
    : /\bFAIL\b/.test(last)
      ? [weave]
      : /\bOTHER\b/.test(last)
        ? [failing('oiled', OTHER)]
        : undefined
  const step = steps?.[results.length]
  return steps && (step ? shell(step) : { text: 'That was all.' })
}

/** Off, it is silent; on, the model is told what mended the same failure in another session, and nothing of another one. */
export async function recallStory({ name, client, agent, recollect, requests, remove, configure, check }) {
  const hinted = async (prompt) => {
    const before = requests().length
    const { code, stderr } = await agent(...client.run(prompt))
    check(`a session runs (${prompt})`, code === 0, code === 0 ? '' : stderr.trim().slice(-300))
    return requests()
      .slice(before)
      .some((one) => JSON.stringify(one.body ?? '').includes(HINT))
  }
  await hinted('MEND the loom.')
  await recollect('sweep')
  remove('calibrated')
  check('the hook that recalls is off by default', !(await hinted('FAIL at the loom.')))
  configure('[recall]\nhook = "on"\n')
  const installed = await recollect('hooks', 'install', '--agent', name)
  check('the hook that recalls is installed', installed.code === 0, installed.stderr.trim())
  await recollect('sweep')
  check('what mended the failure reaches the model', await hinted('FAIL at the loom again.'))
  check('of another failure nothing does', !(await hinted('OTHER work at the mill.')))
}
