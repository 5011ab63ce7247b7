// A little agent that records itself in Entire's format (docs/formats/entire.md): the Messages API's own blocks.
// Usage: node examples/agent-entire.mjs [directory]
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { accumulateMessage, EntireTranscript, readEntireTranscript } from 'recollect/record'
import { startModel } from './server.mjs'

const cwd = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'agent-entire-'))
writeFileSync(join(cwd, 'notes.txt'), 'Milk and bread.')
const model = await startModel()
const runTool = ({ id, input }) => {
  const content = readFileSync(join(cwd, basename(input.path)), 'utf8')
  return { type: 'tool_result', tool_use_id: id, content }
}

// readme
const transcript = new EntireTranscript({ cwd, version: '1.0.0' })

const messages = [{ role: 'user', content: 'What is in notes.txt?' }]
await transcript.user(messages[0].content)
for (;;) {
  const reply = await accumulateMessage(await model.ask(messages))
  await transcript.assistant(reply.content, reply)
  messages.push({ role: 'assistant', content: reply.content })
  const calls = reply.content.filter((block) => block.type === 'tool_use')
  if (calls.length === 0) break
  const results = calls.map(runTool)
  await transcript.user(results)
  messages.push({ role: 'user', content: results })
}
await transcript.end()
// end readme

model.close()
console.log(transcript.path)
for await (const { type, message } of readEntireTranscript(transcript.path)) {
  console.log(type.padEnd(10), JSON.stringify(message.content), message.usage?.output_tokens ?? '')
}
console.log(readFileSync(join(transcript.directory, 'context.md'), 'utf8'))
