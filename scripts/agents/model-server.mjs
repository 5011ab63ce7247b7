// A model that follows a script, behind the wire protocols that coding agents speak: Anthropic Messages, OpenAI Responses and
// chat completions, Gemini, all streamed. What it answers is decided by one function over a neutral request.
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'

/**
 * @typedef {{ api: string, model: string, tools: string[], prompt: string, results: { id: string, text: string }[], body: any }} Asked
 * @typedef {{ text: string } | { tool: string, input: object, namespace?: string, isToolSearch?: boolean }} Answer
 */

/** @param {(asked: Asked) => Answer} answer @param {string} logFile */
export async function startModelServer(answer, logFile) {
  // Agents' usage is counted once per response id: it must not come again in another run.
  const series = Date.now().toString(36)
  let count = 0
  const server = createServer(async (request, response) => {
    const body = await readJson(request)
    const path = (request.url ?? '').split('?')[0]
    const wire = WIRES.find((one) => (one.pattern ? one.pattern.test(path) : path.endsWith(one.path)))
    if (request.method !== 'POST' || !wire) {
      appendFileSync(logFile, `${JSON.stringify({ method: request.method, path })}\n`)
      return sendJson(response, path.endsWith('/models') ? MODELS : {}, path.endsWith('/models') ? 200 : 404)
    }
    body.model ??= /models\/([^:/]+)/.exec(path)?.[1]
    const asked = { api: wire.path, model: body.model, tools: wire.tools(body), ...wire.read(body), body }
    const answered = answer(asked)
    const { body: _, ...brief } = asked
    const id = `${series}${String(++count).padStart(4, '0')}`
    appendFileSync(logFile, `${JSON.stringify({ id, ...brief, answered, headers: request.headers, body })}\n`)
    const events = wire.events(answered, id, body.model)
    if (body.stream === true || path.endsWith(':streamGenerateContent')) sendEvents(response, events)
    else sendJson(response, wire.whole(answered, id, body.model))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() }
}

const MODELS = {
  object: 'list',
  data: [
    { id: 'grok-4.6', object: 'model' },
    { id: 'gpt-5.5', object: 'model' },
  ],
}
const USAGE = { input_tokens: 100, output_tokens: 20 }

async function readJson(request) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    return {}
  }
}

function sendJson(response, value, status = 200) {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}

function sendEvents(response, events) {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  for (const event of events) {
    if (event.type) response.write(`event: ${event.type}\n`)
    response.write(`data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
  }
  response.end()
}

const textOf = (content) =>
  typeof content === 'string'
    ? content
    : (content ?? []).map((part) => part.text ?? (part.content ? textOf(part.content) : '')).join('\n')

const messages = {
  path: '/messages',
  tools: (body) => (body.tools ?? []).map((tool) => tool.name),
  read(body) {
    const users = (body.messages ?? []).filter((message) => message.role === 'user')
    const blocks = users.flatMap((message) => (Array.isArray(message.content) ? message.content : []))
    const results = blocks.filter((block) => block.type === 'tool_result')
    const texts = users.map((message) =>
      typeof message.content === 'string'
        ? message.content
        : textOf(message.content.filter((block) => block.type === 'text')),
    )
    return {
      prompt: texts.join('\n'),
      results: results.map((block) => ({ id: block.tool_use_id, text: textOf(block.content) })),
    }
  },
  block: (answer, id) =>
    answer.tool
      ? { type: 'tool_use', id: `toolu_${id}`, name: answer.tool, input: answer.input }
      : { type: 'text', text: answer.text },
  whole(answer, id, model) {
    return {
      id: `msg_${id}`,
      type: 'message',
      role: 'assistant',
      model,
      content: [this.block(answer, id)],
      stop_reason: answer.tool ? 'tool_use' : 'end_turn',
      stop_sequence: null,
      usage: { ...USAGE, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
    }
  },
  events(answer, id, model) {
    const whole = this.whole(answer, id, model)
    const start = answer.tool ? { ...whole.content[0], input: {} } : { type: 'text', text: '' }
    const delta = answer.tool
      ? { type: 'input_json_delta', partial_json: JSON.stringify(answer.input) }
      : { type: 'text_delta', text: answer.text }
    return [
      { type: 'message_start', message: { ...whole, content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: start },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: whole.stop_reason, stop_sequence: null },
        usage: { output_tokens: USAGE.output_tokens },
      },
      { type: 'message_stop' },
    ]
  },
}

const responses = {
  path: '/responses',
  tools: (body) =>
    (body.tools ?? []).flatMap((tool) =>
      tool.type === 'namespace'
        ? (tool.tools ?? []).map((inner) => `${tool.name}/${inner.name}`)
        : [tool.name ?? tool.type],
    ),
  read(body) {
    const input =
      typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : (body.input ?? [])
    const users = input.filter((item) => item.role === 'user')
    const results = input.filter((item) => /_output$/.test(item.type ?? ''))
    return {
      prompt: users.map((item) => textOf(item.content)).join('\n'),
      results: results.map((item) => ({
        id: item.call_id,
        text: item.tools ? JSON.stringify(item.tools) : textOf(item.output),
      })),
    }
  },
  item: (answer, id) =>
    answer.isToolSearch
      ? {
          type: 'tool_search_call',
          id: `ts_${id}`,
          call_id: `call_${id}`,
          execution: 'client',
          arguments: answer.input,
          status: 'completed',
        }
      : answer.tool
        ? {
            type: 'function_call',
            id: `fc_${id}`,
            call_id: `call_${id}`,
            name: answer.tool,
            ...(answer.namespace ? { namespace: answer.namespace } : {}),
            arguments: JSON.stringify(answer.input),
            status: 'completed',
          }
        : {
            type: 'message',
            id: `item_${id}`,
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: answer.text, annotations: [] }],
          },
  whole(answer, id, model) {
    return {
      id: `resp_${id}`,
      object: 'response',
      created_at: Math.floor(Date.now() / 1000),
      status: 'completed',
      model,
      output: [this.item(answer, id)],
      usage: {
        ...USAGE,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 120,
      },
    }
  },
  events(answer, id, model) {
    const whole = this.whole(answer, id, model)
    const [item] = whole.output
    const begun = { ...whole, status: 'in_progress', output: [], usage: null }
    const inner = answer.isToolSearch
      ? []
      : answer.tool
        ? [
            {
              type: 'response.function_call_arguments.delta',
              item_id: item.id,
              output_index: 0,
              delta: item.arguments,
            },
            {
              type: 'response.function_call_arguments.done',
              item_id: item.id,
              output_index: 0,
              arguments: item.arguments,
            },
          ]
        : [
            {
              type: 'response.content_part.added',
              item_id: item.id,
              output_index: 0,
              content_index: 0,
              part: { type: 'output_text', text: '', annotations: [] },
            },
            {
              type: 'response.output_text.delta',
              item_id: item.id,
              output_index: 0,
              content_index: 0,
              delta: answer.text,
            },
            {
              type: 'response.output_text.done',
              item_id: item.id,
              output_index: 0,
              content_index: 0,
              text: answer.text,
            },
            {
              type: 'response.content_part.done',
              item_id: item.id,
              output_index: 0,
              content_index: 0,
              part: item.content[0],
            },
          ]
    const events = [
      { type: 'response.created', response: begun },
      { type: 'response.in_progress', response: begun },
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: {
          ...item,
          status: 'in_progress',
          ...(answer.isToolSearch ? {} : answer.tool ? { arguments: '' } : { content: [] }),
        },
      },
      ...inner,
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: whole },
    ]
    return events.map((event, at) => ({ ...event, sequence_number: at }))
  },
}

const chat = {
  path: '/chat/completions',
  tools: (body) => (body.tools ?? []).map((tool) => tool.function?.name ?? tool.type),
  read(body) {
    const users = (body.messages ?? []).filter((message) => message.role === 'user')
    const results = (body.messages ?? []).filter((message) => message.role === 'tool')
    return {
      prompt: users.map((message) => textOf(message.content)).join('\n'),
      results: results.map((message) => ({ id: message.tool_call_id, text: textOf(message.content) })),
    }
  },
  message: (answer, id) =>
    answer.tool
      ? {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              index: 0,
              id: `call_${id}`,
              type: 'function',
              function: { name: answer.tool, arguments: JSON.stringify(answer.input) },
            },
          ],
        }
      : { role: 'assistant', content: answer.text },
  base: (id, model) => ({ id: `chatcmpl_${id}`, created: Math.floor(Date.now() / 1000), model }),
  usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
  whole(answer, id, model) {
    const finish = answer.tool ? 'tool_calls' : 'stop'
    const choices = [{ index: 0, message: this.message(answer, id), finish_reason: finish }]
    return { ...this.base(id, model), object: 'chat.completion', choices, usage: this.usage }
  },
  events(answer, id, model) {
    const chunk = (delta, finish, more = {}) => ({
      ...this.base(id, model),
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: finish }],
      ...more,
    })
    return [
      chunk(this.message(answer, id), null),
      chunk({}, answer.tool ? 'tool_calls' : 'stop', { usage: this.usage }),
      '[DONE]',
    ]
  },
}

const gemini = {
  path: ':generateContent',
  pattern: /:(?:streamGenerate|generate)Content$/,
  tools: (body) =>
    (body.tools ?? []).flatMap((tool) => (tool.functionDeclarations ?? []).map((one) => one.name)),
  read(body) {
    const parts = (body.contents ?? [])
      .filter(({ role }) => role === 'user')
      .flatMap((one) => one.parts ?? [])
    return {
      prompt: textOf(parts.filter((part) => part.text)),
      results: parts.flatMap(({ functionResponse: one }) =>
        one ? [{ id: one.id, text: JSON.stringify(one.response) }] : [],
      ),
    }
  },
  whole(answer, id, model) {
    const part = answer.tool
      ? { functionCall: { id: `call_${id}`, name: answer.tool, args: answer.input } }
      : { text: answer.text }
    return {
      candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 20, totalTokenCount: 120 },
      modelVersion: model,
      responseId: `resp_${id}`,
    }
  },
  events(answer, id, model) {
    return [this.whole(answer, id, model)]
  },
}

const WIRES = [messages, responses, chat, gemini]
