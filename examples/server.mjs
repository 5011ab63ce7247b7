// A scripted model server on loopback that speaks the streaming Messages API: asked a question it calls the tool
// `read_file`, given the tool's result it answers. It stands in for a provider, so that the examples run anywhere.
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'

/** Starts the server; `ask(messages)` sends a conversation and resolves to the response's byte stream. */
export async function startModel() {
  const server = createServer(async (request, response) => {
    const { messages } = await json(request)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of script(messages)) {
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    }
    response.end()
  })
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready))
  const url = `http://127.0.0.1:${server.address().port}/v1/messages`
  const ask = async (messages) => {
    const body = JSON.stringify({ model: 'scripted-1', max_tokens: 1024, stream: true, messages })
    return (await fetch(url, { method: 'POST', body })).body
  }
  return { ask, close: () => server.close() }
}

function* script(messages) {
  const { content } = messages.at(-1)
  const result = Array.isArray(content) ? content.find((block) => block.type === 'tool_result') : undefined
  const usage = { input_tokens: JSON.stringify(messages).length >> 2, output_tokens: 1 }
  const message = { id: `msg_${messages.length}`, type: 'message', role: 'assistant', model: 'scripted-1' }
  yield { type: 'message_start', message: { ...message, content: [], stop_reason: null, usage } }
  if (result) {
    yield* block(0, { type: 'text', text: '' }, 'text_delta', 'text', `The file says: ${result.content}`)
  } else {
    yield* block(0, { type: 'text', text: '' }, 'text_delta', 'text', 'Let me look.')
    const use = { type: 'tool_use', id: `toolu_${messages.length}`, name: 'read_file', input: {} }
    yield* block(1, use, 'input_json_delta', 'partial_json', '{"path":"notes.txt"}')
  }
  const stop_reason = result ? 'end_turn' : 'tool_use'
  yield { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 20 } }
  yield { type: 'message_stop' }
}

/** One content block, its text in pieces of five characters. */
function* block(index, content_block, type, field, text) {
  yield { type: 'content_block_start', index, content_block }
  for (const piece of text.match(/.{1,5}/gs)) {
    yield { type: 'content_block_delta', index, delta: { type, [field]: piece } }
  }
  yield { type: 'content_block_stop', index }
}
