// A tour of every command, as a person sees it: on a wide terminal, at 80 columns, without colour and letters beyond ASCII,
// and in a pipe. Compares with the reviewed snapshots in docs/tour; `--update` writes them anew, to be reviewed again.
// `--topic NAME` and `--form NAME` take only those. Needs tmux and the built program.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { makeStage } from './tour/stage.mjs'
import { TOPICS } from './tour/steps.mjs'
import { hasTmux, runPiped, Terminal } from './tour/terminal.mjs'

const KEPT = resolve(import.meta.dirname, '..', 'docs', 'tour')
const FORMS = {
  wide: { width: 140, env: {} },
  80: { width: 80, env: {} },
  plain: { width: 80, env: { NO_COLOR: '1', LANG: 'C' } },
  piped: {},
}

const { values } = parseArgs({
  options: {
    update: { type: 'boolean' },
    topic: { type: 'string', multiple: true },
    form: { type: 'string', multiple: true },
  },
})
const topics = values.topic ?? Object.keys(TOPICS)
const forms = values.form ?? Object.keys(FORMS)
if (forms.some((form) => FORMS[form].width) && !hasTmux()) {
  console.error('tmux is missing: apt-get install tmux')
  process.exit(1)
}
let wrong = 0
for (const topic of topics)
  for (const form of forms) wrong += keep(`${topic}.${form}.txt`, await tour(topic, form))
if (wrong > 0) console.error(`${wrong} differ; look at them, then: npm run tour -- --update`)
process.exitCode = wrong > 0 ? 1 : 0

/** Each topic has a home of its own, so that one can be looked at alone. */
async function tour(topic, form) {
  const { width, env } = FORMS[form]
  const stage = makeStage()
  const terminal = width && new Terminal(stage, width)
  const parts = []
  try {
    for (const step of TOPICS[topic]) {
      if (typeof step === 'function') await step(stage)
      else
        parts.push(
          stage.masked(await shown({ ...step, env: { ...env, ...step.env } }, stage, terminal, form)),
        )
    }
  } finally {
    terminal?.close()
    stage.remove()
  }
  return `${parts.join('\n\n')}\n`
}

async function shown(step, stage, terminal, form) {
  if (!terminal) return await shownPiped(step, stage)
  const { code, text, hasColour } = await terminal.run(step)
  if (form === 'plain' && hasColour) throw new Error(`${step.line}: colour in spite of NO_COLOR`)
  return [`$ ${step.line}`, text, ...(code === 0 ? [] : [`[exit ${code}]`])].filter(Boolean).join('\n')
}

async function shownPiped(step, stage) {
  const { code, stdout, stderr } = await runPiped(stage, step)
  if (/[\x00-\x08\x0b-\x1f\x7f]/.test(stdout + stderr))
    throw new Error(`${step.line}: control codes in a pipe`)
  const errors = stderr.trimEnd().replace(/^(?=.)/gm, '2> ')
  const ended = code === 0 ? '' : `[exit ${code}]`
  return [`$ ${step.line} | cat`, stdout.trimEnd(), errors, ended].filter(Boolean).join('\n')
}

/** 1 when it is not what was reviewed. */
function keep(name, text) {
  const path = join(KEPT, name)
  const before = existsSync(path) ? readFileSync(path, 'utf8') : undefined
  if (before === text) return 0
  if (values.update) {
    mkdirSync(KEPT, { recursive: true })
    writeFileSync(path, text)
    console.log(`wrote docs/tour/${name}`)
    return 0
  }
  const [old, now] = [(before ?? '').split('\n'), text.split('\n')]
  const at = now.findIndex((line, index) => line !== old[index])
  console.error(`docs/tour/${name}:${at + 1}\n- ${old[at] ?? ''}\n+ ${now[at] ?? ''}`)
  return 1
}
