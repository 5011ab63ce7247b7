// Recall, false findings and speed of the redactor.
//   node bench/redact.mjs [--cases <dir>] [--clean <dir or file>]… [--misses <n>] [--shapes <n>]
// <dir> of cases holds <set>.positives.jsonl and <set>.negatives.jsonl ({rule, text, secrets?} per line; see
// scripts/redact-cases.go). Clean text is read from .jsonl (every string of it), and as plain text otherwise; of it only
// counts and masked shapes are printed, never the text.
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'tsdown'

const { values: options } = parseArgs({
  options: {
    cases: { type: 'string', default: process.env.REDACT_CASES ?? '' },
    clean: { type: 'string', multiple: true, default: [] },
    misses: { type: 'string', default: '0' },
    shapes: { type: 'string', default: '0' },
  },
})

const outDir = join(tmpdir(), `redact-bench-${process.pid}`)
await build({
  entry: { redact: 'src/redact/index.ts' },
  outDir,
  format: 'esm',
  dts: false,
  logLevel: 'error',
  config: false,
})
const { createRedactor } = await import(join(outDir, 'redact.mjs')).catch(
  () => import(join(outDir, 'redact.js')),
)
rmSync(outDir, { recursive: true })
const redactor = createRedactor({ key: new Uint8Array(32).fill(7) })

const readCases = (path) =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
const escaped = (text) => JSON.stringify(text).slice(1, -1)

/** A case is found when one of its secrets no longer stands in the text; without a known secret, when anything changed. */
function isFound({ text, secrets }, form) {
  const input = form(text)
  const output = redactor.text(input, {})
  return secrets?.length ? secrets.some((secret) => !output.includes(form(secret))) : output !== input
}

function recall(directory) {
  for (const file of readdirSync(directory)
    .filter((name) => name.endsWith('.positives.jsonl'))
    .sort()) {
    const set = file.replace('.positives.jsonl', '')
    const positives = readCases(join(directory, file))
    const negatives = readCases(join(directory, `${set}.negatives.jsonl`))
    const missed = positives.filter((one) => !isFound(one, (text) => text))
    const missedEscaped = positives.filter((one) => !isFound(one, escaped))
    const flagged = negatives.filter(({ text }) => redactor.text(text, {}) !== text)
    const percent = (count, of) => `${((100 * count) / of).toFixed(1)} %`
    const rules = new Set(positives.map((one) => one.rule)).size
    console.log(
      `${set}: ${positives.length} positives of ${rules} rules: recall ${percent(positives.length - missed.length, positives.length)},`,
      `JSON-escaped ${percent(positives.length - missedEscaped.length, positives.length)};`,
      `${negatives.length} negatives: ${percent(flagged.length, negatives.length)} flagged`,
    )
    const step = Math.max(1, Math.floor(missed.length / Number(options.misses || 1)))
    for (let i = 0; i < missed.length && Number(options.misses) > 0; i += step) {
      console.log(
        '  missed',
        missed[i].rule,
        JSON.stringify(missed[i].secrets ?? null).slice(0, 100),
        JSON.stringify(missed[i].text.slice(0, 300)),
      )
    }
  }
}

function* filesBelow(path) {
  if (statSync(path).isFile()) return yield path
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory() || entry.isFile()) yield* filesBelow(join(path, entry.name))
  }
}

function load(path) {
  const items = []
  let size = 0
  for (const file of filesBelow(path)) {
    if (size > 150e6) break
    const text = readFileSync(file, 'utf8')
    if (text.includes('\ufffd') || text.includes('\0')) continue
    size += text.length
    if (!file.endsWith('.jsonl')) items.push(text)
    else
      for (const line of text.split('\n')) {
        try {
          if (line) items.push(JSON.parse(line))
        } catch {}
      }
  }
  return { items, megabytes: size / 1e6 }
}

/** Letters and digits masked: enough to judge a finding's kind, nothing to read. */
const mask = (text) => text.replace(/[a-z]/g, 'a').replace(/[A-Z]/g, 'A').replace(/[0-9]/g, '0').slice(0, 60)

function clean(path) {
  const { items, megabytes } = load(path)
  const counts = {}
  for (const item of items) redactor.value(item, counts)
  const started = process.cpuUsage()
  const again = {}
  for (const item of items) redactor.value(item, again)
  const used = process.cpuUsage(started)
  const total = Object.values(again).reduce((sum, count) => sum + count, 0)
  console.log(
    `${path}: ${megabytes.toFixed(1)} MB, ${total} findings, ${(total / megabytes).toFixed(2)} per MB,`,
    `${(megabytes / ((used.user + used.system) / 1e6)).toFixed(0)} MB/s`,
    JSON.stringify(again),
  )
  if (Number(options.shapes) > 0) shapes(items)
}

function shapes(items) {
  let left = Number(options.shapes)
  const see = (before, after) => {
    for (const match of after.matchAll(/\[REDACTED:([a-z0-9-]+):/g)) {
      if (left-- <= 0) return
      const lead = after.slice(Math.max(0, match.index - 24), match.index)
      const at = before.indexOf(lead) + lead.length
      console.log(
        '  ',
        match[1],
        process.env.REDACT_SHOW
          ? JSON.stringify(`${lead}»${before.slice(at, at + 60)}`)
          : mask(before.slice(at, at + 40)),
      )
    }
  }
  for (const item of items) {
    const out = redactor.value(item, {})
    if (out === item) continue
    if (typeof item === 'string') see(item, out)
    else see(JSON.stringify(item), JSON.stringify(out))
  }
}

if (options.cases) recall(options.cases)
for (const path of options.clean) clean(path)
