// A model that follows a script, behind the wire protocols that coding agents speak: Anthropic Messages, OpenAI Responses and
// chat completions, Gemini, all streamed. What it answers is decided by one function over a neutral request.
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'

/**
 * @typedef {{ api: string, model: string, tools: string[], prompt: string, last: string, results: { id: string, text: string }[], body: any }} Asked
 * @typedef {{ text?: string, thinking?: string, status?: number, hangs?: boolean, usage?: Partial<typeof USAGE>,
 *   calls?: Call[] } & Partial<Call>} Answer  `hangs`: half of it, then nothing until the client goes; `cuts`: then
 *   the connection ends
 * @typedef {{ tool: string, input: object | string, id?: string, namespace?: string, isToolSearch?: boolean }} Call
 */

/** @param {(asked: Asked, request: { id: string, gone: () => void }) => Answer} answer @param {string} logFile */
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
    const id = `${series}${String(++count).padStart(4, '0')}`
    const answered = answer(asked, id)
    const { body: _, ...brief } = asked
    appendFileSync(logFile, `${JSON.stringify({ id, ...brief, answered, headers: request.headers, body })}\n`)
    const { status = 200 } = answered
    if (status !== 200)
      return sendJson(response, { error: { type: 'api_error', code: status, message: 'scripted' } }, status)
    const reply = {
      id,
      model: body.model,
      parts: partsOf(answered, id),
      usage: answered.uncounted ? NOTHING : { ...USAGE, ...answered.usage },
      isCutOff: answered.isCutOff,
    }
    if (body.stream !== true && !path.endsWith(':streamGenerateContent'))
      return sendJson(response, wire.whole(reply))
    const events = wire.events(reply)
    const isHalf = answered.hangs || answered.cuts
    sendEvents(response, isHalf ? events.slice(0, wire.half) : events, !isHalf)
    if (answered.cuts) setTimeout(() => response.destroy(), 300)
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
/** `input` without what came from the cache; `output` with the thoughts. */
const USAGE = { input: 100, cacheRead: 0, cacheWrite: 0, output: 20 }
const NOTHING = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 }

function partsOf({ thinking, text, calls, ...call }, id) {
  return [
    ...(thinking ? [{ thinking }] : []),
    ...(text ? [{ text }] : []),
    ...(calls ?? (call.tool ? [call] : [])).map((one, at) => ({ id: `${id}x${at}`, ...one })),
  ]
}

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

function sendEvents(response, events, isWhole) {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  for (const event of events) {
    if (event.type) response.write(`event: ${event.type}\n`)
    response.write(`data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
  }
  if (isWhole) response.end()
}

/** All that was said, and what was said last. */
const saidIn = (texts) => ({ prompt: texts.join('\n'), last: texts.findLast((text) => text !== '') ?? '' })

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
      ...saidIn(texts),
      results: results.map((block) => ({ id: block.tool_use_id, text: textOf(block.content) })),
    }
  },
  half: 3,
  block: ({ tool, input, id, text, thinking }) =>
    tool
      ? { type: 'tool_use', id: `toolu_${id}`, name: tool, input }
      : thinking
        ? { type: 'thinking', thinking, signature: 'c2NyaXB0ZWQ=' }
        : { type: 'text', text },
  whole({ id, model, parts, usage, isCutOff }) {
    return {
      id: `msg_${id}`,
      type: 'message',
      role: 'assistant',
      model,
      content: parts.map(this.block),
      stop_reason: isCutOff ? 'max_tokens' : parts.some(({ tool }) => tool) ? 'tool_use' : 'end_turn',
      stop_sequence: null,
      usage: {
        input_tokens: usage.input,
        output_tokens: usage.output,
        cache_read_input_tokens: usage.cacheRead,
        cache_creation_input_tokens: usage.cacheWrite,
      },
    }
  },
  events(reply) {
    const whole = this.whole(reply)
    const blocks = whole.content.flatMap((block, index) => {
      const deltas =
        block.type === 'tool_use'
          ? [{ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }]
          : block.type === 'thinking'
            ? [
                { type: 'thinking_delta', thinking: block.thinking },
                { type: 'signature_delta', signature: block.signature },
              ]
            : halves(block.text).map((text) => ({ type: 'text_delta', text }))
      const empty = { tool_use: { input: {} }, thinking: { thinking: '', signature: '' }, text: { text: '' } }
      return [
        { type: 'content_block_start', index, content_block: { ...block, ...empty[block.type] } },
        ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
        { type: 'content_block_stop', index },
      ]
    })
    const { stop_reason, stop_sequence, usage } = whole
    return [
      {
        type: 'message_start',
        message: { ...whole, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
      },
      ...blocks,
      {
        type: 'message_delta',
        delta: { stop_reason, stop_sequence },
        usage: { output_tokens: usage.output_tokens },
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
      ...saidIn(users.map((item) => textOf(item.content))),
      results: results.map((item) => ({
        id: item.call_id,
        text: item.tools ? JSON.stringify(item.tools) : textOf(item.output),
      })),
    }
  },
  half: 5,
  item({ tool, input, id, namespace, isToolSearch, text, thinking }) {
    if (thinking)
      return { type: 'reasoning', id: `rs_${id}`, summary: [{ type: 'summary_text', text: thinking }] }
    if (!tool)
      return {
        type: 'message',
        id: `item_${id}`,
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text, annotations: [] }],
      }
    const call = { call_id: `call_${id}`, status: 'completed' }
    if (isToolSearch)
      return { type: 'tool_search_call', id: `ts_${id}`, ...call, execution: 'client', arguments: input }
    const name = { name: tool, ...(namespace ? { namespace } : {}) }
    return typeof input === 'string'
      ? { type: 'custom_tool_call', id: `ct_${id}`, ...call, ...name, input }
      : { type: 'function_call', id: `fc_${id}`, ...call, ...name, arguments: JSON.stringify(input) }
  },
  whole({ id, model, parts, usage }) {
    const input = usage.input + usage.cacheRead
    return {
      id: `resp_${id}`,
      object: 'response',
      created_at: Math.floor(Date.now() / 1000),
      status: 'completed',
      model,
      output: parts.map((part, at) => this.item({ id: `${id}p${at}`, ...part })),
      usage: {
        input_tokens: input,
        output_tokens: usage.output,
        input_tokens_details: { cached_tokens: usage.cacheRead },
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: input + usage.output,
      },
    }
  },
  events(reply) {
    const whole = this.whole(reply)
    const begun = { ...whole, status: 'in_progress', output: [], usage: null }
    const events = [
      { type: 'response.created', response: begun },
      { type: 'response.in_progress', response: begun },
      ...whole.output.flatMap((item, output_index) => {
        const at = { item_id: item.id, output_index }
        const empty = { function_call: { arguments: '' }, message: { content: [] } }[item.type]
        return [
          {
            type: 'response.output_item.added',
            output_index,
            item: { ...item, status: 'in_progress', ...empty },
          },
          ...this.inner(item, at),
          { type: 'response.output_item.done', output_index, item },
        ]
      }),
      { type: 'response.completed', response: whole },
    ]
    return events.map((event, at) => ({ ...event, sequence_number: at }))
  },
  inner(item, at) {
    const name = 'response.function_call_arguments'
    if (item.type === 'function_call')
      return [
        { type: `${name}.delta`, ...at, delta: item.arguments },
        { type: `${name}.done`, ...at, arguments: item.arguments },
      ]
    if (item.type !== 'message') return []
    const [part] = item.content
    const place = { ...at, content_index: 0 }
    return [
      { type: 'response.content_part.added', ...place, part: { ...part, text: '' } },
      ...halves(part.text).map((delta) => ({ type: 'response.output_text.delta', ...place, delta })),
      { type: 'response.output_text.done', ...place, text: part.text },
      { type: 'response.content_part.done', ...place, part },
    ]
  },
}

const chat = {
  path: '/chat/completions',
  tools: (body) => (body.tools ?? []).map((tool) => tool.function?.name ?? tool.type),
  read(body) {
    const users = (body.messages ?? []).filter((message) => message.role === 'user')
    const results = (body.messages ?? []).filter((message) => message.role === 'tool')
    return {
      ...saidIn(users.map((message) => textOf(message.content))),
      results: results.map((message) => ({ id: message.tool_call_id, text: textOf(message.content) })),
    }
  },
  half: 1,
  message(parts) {
    const calls = parts.flatMap(({ tool, input, id }, index) =>
      tool
        ? [
            {
              index,
              id: `call_${id}`,
              type: 'function',
              function: { name: tool, arguments: JSON.stringify(input) },
            },
          ]
        : [],
    )
    const of = (name) => parts.find((part) => part[name])?.[name]
    return {
      role: 'assistant',
      content: of('text') ?? null,
      ...(of('thinking') ? { reasoning_content: of('thinking') } : {}),
      ...(calls.length > 0 ? { tool_calls: calls.map((call, index) => ({ ...call, index })) } : {}),
    }
  },
  base: (id, model) => ({ id: `chatcmpl_${id}`, created: Math.floor(Date.now() / 1000), model }),
  usage: ({ input, cacheRead, output }) => ({
    prompt_tokens: input + cacheRead,
    completion_tokens: output,
    total_tokens: input + cacheRead + output,
    prompt_tokens_details: { cached_tokens: cacheRead },
  }),
  whole({ id, model, parts, usage }) {
    const finish = parts.some(({ tool }) => tool) ? 'tool_calls' : 'stop'
    const choices = [{ index: 0, message: this.message(parts), finish_reason: finish }]
    return { ...this.base(id, model), object: 'chat.completion', choices, usage: this.usage(usage) }
  },
  events({ id, model, parts, usage, isCutOff }) {
    const chunk = (delta, finish, more = {}) => ({
      ...this.base(id, model),
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: finish }],
      ...more,
    })
    const { content, ...first } = this.message(parts)
    const finish = isCutOff ? 'length' : parts.some(({ tool }) => tool) ? 'tool_calls' : 'stop'
    const [start, end] = content === null ? [null, ''] : halves(content)
    return [
      chunk({ ...first, content: start }, null),
      ...(end ? [chunk({ content: end }, null)] : []),
      chunk({}, finish, { usage: this.usage(usage) }),
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
    const users = (body.contents ?? []).filter(({ role }) => role === 'user')
    const parts = users.flatMap((one) => one.parts ?? [])
    return {
      ...saidIn(users.map((one) => textOf((one.parts ?? []).filter((part) => part.text)))),
      results: parts.flatMap(({ functionResponse: one }) =>
        one ? [{ id: one.id, text: JSON.stringify(one.response) }] : [],
      ),
    }
  },
  half: 1,
  part: ({ tool, input, id, text, thinking }) =>
    tool
      ? { functionCall: { id: `call_${id}`, name: tool, args: input } }
      : thinking
        ? { text: thinking, thought: true }
        : { text },
  whole({ id, model, parts, usage, isCutOff }) {
    const prompt = usage.input + usage.cacheRead
    return {
      candidates: [
        {
          index: 0,
          content: { role: 'model', parts: parts.map(this.part) },
          finishReason: isCutOff ? 'MAX_TOKENS' : 'STOP',
        },
      ],
      usageMetadata: {
        promptTokenCount: prompt,
        cachedContentTokenCount: usage.cacheRead,
        candidatesTokenCount: usage.output,
        totalTokenCount: prompt + usage.output,
      },
      modelVersion: model,
      responseId: `resp_${id}`,
    }
  },
  events(reply) {
    const whole = this.whole(reply)
    const text = reply.parts.find((part) => part.text)?.text
    if (!text) return [whole]
    const [start, end] = halves(text)
    const first = { candidates: [{ index: 0, content: { role: 'model', parts: [{ text: start }] } }] }
    const parts = reply.parts.map((part) => (part.text ? { ...part, text: end } : part))
    return [
      { ...first, modelVersion: whole.modelVersion, responseId: whole.responseId },
      this.whole({ ...reply, parts }),
    ]
  },
}

/** Answers come in pieces, so that one can stop in the middle. */
const halves = (text) => {
  const half = Math.ceil(text.length / 2)
  // No server sends half a character.
  const middle = /[\uDC00-\uDFFF]/.test(text[half] ?? '') ? half + 1 : half
  return text.length > 1 ? [text.slice(0, middle), text.slice(middle)] : [text]
}

const WIRES = [messages, responses, chat, gemini]
