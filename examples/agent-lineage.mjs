// A little bot that records which of its sessions came from which (docs/formats/lineage.md), and draws the tree.
// Usage: node examples/agent-lineage.mjs [directory]
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { accumulateMessage, buildSessionTree, renderSessionTree, SessionHistory } from 'recollect/record'
import { startModel } from './server.mjs'

const directory = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'agent-lineage-'))
writeFileSync(join(directory, 'notes.txt'), 'Milk and bread.')
const model = await startModel()
const runTool = ({ id, input }) => {
  const content = readFileSync(join(directory, basename(input.path)), 'utf8')
  return { type: 'tool_result', tool_use_id: id, content }
}

// readme
const history = new SessionHistory(directory)

async function converse(messages, afterTurn) {
  for (;;) {
    const reply = await accumulateMessage(await model.ask(messages))
    await afterTurn()
    messages.push({ role: 'assistant', content: reply.content })
    const calls = reply.content.filter((block) => block.type === 'tool_use')
    if (calls.length === 0) return reply.content[0].text
    messages.push({ role: 'user', content: calls.map(runTool) })
  }
}

const main = randomUUID()
const messages = [{ role: 'user', content: 'What is in notes.txt?' }]
const answer = await converse(messages, () => history.saveSessionId(main)) // created, once

const fork = randomUUID()
const aside = [...messages, { role: 'user', content: 'And is it still there?' }]
await converse(aside, () => history.backgroundFork(fork, main)) // bg_fork, once

const summary = [{ role: 'user', content: `So far: ${answer} Look again.` }]
const compacted = randomUUID()
await converse(summary, () => history.saveSessionId(compacted)) // compacted
// end readme

model.close()
console.log(history.historyPath)
const events = await history.read()
for (const { event, session_id } of events) console.log(event.padEnd(10), session_id)
console.log(renderSessionTree(buildSessionTree(events)))
