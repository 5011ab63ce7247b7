// A little agent that records itself as a turn log (docs/formats/turns.md): one JSON line per turn.
// Usage: node examples/agent-turns.mjs [directory]
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { accumulateMessage, TranscriptWriter } from 'recollect/record'
import { startModel } from './server.mjs'

const base = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'agent-turns-'))
writeFileSync(join(base, 'notes.txt'), 'Milk and bread.')
const model = await startModel()
const textOf = (content) => content.map((block) => block.text ?? '').join('')
const runTool = ({ id, input }) => ({
  callId: id,
  result: readFileSync(join(base, basename(input.path)), 'utf8'),
})

// readme
const writer = new TranscriptWriter(base)
const record = (turn) => writer.append('main', 's1', { turnId: randomUUID(), ts: Date.now(), ...turn })

const messages = [{ role: 'user', content: 'What is in notes.txt?' }]
await record(messages[0])
for (;;) {
  const reply = await accumulateMessage(await model.ask(messages))
  const calls = reply.content.filter((block) => block.type === 'tool_use')
  const toolCalls = calls.map(({ id, name, input }) => ({ id, name, args: input }))
  const tokens = { prompt: reply.usage.input_tokens, completion: reply.usage.output_tokens }
  const metadata = { model: reply.model, tokens }
  await record({ role: 'assistant', content: textOf(reply.content), toolCalls, metadata })
  messages.push({ role: 'assistant', content: reply.content })
  if (calls.length === 0) break
  const toolResults = calls.map(runTool)
  await record({ role: 'tool', toolResults })
  const results = toolResults.map((one) => ({
    type: 'tool_result',
    tool_use_id: one.callId,
    content: one.result,
  }))
  messages.push({ role: 'user', content: results })
}
await writer.close()
// end readme

model.close()
console.log(writer.resolvePath('main', 's1'))
for await (const turn of writer.readStream('main', 's1')) {
  const { role, content, toolCalls, toolResults } = turn
  console.log(role.padEnd(10), content || '', JSON.stringify(toolCalls ?? toolResults ?? []))
}
