// A little agent that records its run as one document (docs/formats/run.md), ended as completed or failed.
// Usage: node examples/agent-run.mjs [directory]
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { accumulateMessage, loadRun, RunTranscript } from 'recollect/record'
import { startModel } from './server.mjs'

const base = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'agent-run-'))
writeFileSync(join(base, 'notes.txt'), 'Milk and bread.')
const model = await startModel()
const textOf = (content) => content.map((block) => block.text ?? '').join('')
const runTool = ({ input }) => readFileSync(join(base, basename(input.path)), 'utf8')

// readme
const runId = { flow: 'read-notes', identifier: 'N1' }
const run = await RunTranscript.start(base, { runId, input: { file: 'notes.txt' }, nextSuffix: true })
try {
  const messages = [{ role: 'user', content: 'What is in notes.txt?' }]
  await run.addTurn('user', messages[0].content)
  for (;;) {
    const startedAt = performance.now()
    const reply = await accumulateMessage(await model.ask(messages))
    const durationMs = Math.round(performance.now() - startedAt)
    await run.addTurn('assistant', textOf(reply.content), reply.usage.output_tokens, { durationMs })
    messages.push({ role: 'assistant', content: reply.content })
    const calls = reply.content.filter((block) => block.type === 'tool_use')
    if (calls.length === 0) break
    const results = calls.map((call) => ({ ...call, output: runTool(call) }))
    for (const { id, name, input, output } of results) await run.addToolCall(name, input, output, { id })
    for (const { output } of results) await run.addTurn('tool_result', output)
    const blocks = results.map(({ id, output }) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: output,
    }))
    messages.push({ role: 'user', content: blocks })
  }
  await run.addCost(0.0042)
  await run.complete()
} catch (error) {
  await run.fail(error)
  throw error
}
// end readme

model.close()
console.log(run.directory)
const { metadata, turns } = await loadRun(base, run.runId)
for (const { role, content, toolCalls } of turns) {
  console.log(role.padEnd(12), content, JSON.stringify(toolCalls ?? []))
}
console.log(metadata.status, `${metadata.totalTokensOut} tokens`, `$${metadata.totalCost}`)
