// ATIF-v1.7 as a JSON Schema, written from the fields and rules of its RFC (0001, Harbor framework, April 2026); unknown
// fields are refused, as its own models do. What a schema cannot say is checked beside it.
import { Ajv } from 'ajv'

const text = { type: 'string' }
const extra = { type: 'object' }
const count = { type: 'integer', minimum: 0 }
const closed = (properties: Record<string, unknown>, required: string[] = []) => ({
  type: 'object',
  additionalProperties: false,
  properties,
  required,
})
const part = {
  oneOf: [
    closed({ type: { const: 'text' }, text }, ['type', 'text']),
    closed(
      { type: { const: 'image' }, source: closed({ media_type: text, path: text }, ['media_type', 'path']) },
      ['type', 'source'],
    ),
  ],
}
const content = { oneOf: [text, { type: 'array', items: part }] }
const metrics = closed({
  prompt_tokens: count,
  completion_tokens: count,
  cached_tokens: count,
  cost_usd: { type: 'number' },
  prompt_token_ids: { type: 'array', items: { type: 'integer' } },
  completion_token_ids: { type: 'array', items: { type: 'integer' } },
  logprobs: { type: 'array', items: { type: 'number' } },
  extra,
})
const call = closed({ tool_call_id: text, function_name: text, arguments: { type: 'object' }, extra }, [
  'tool_call_id',
  'function_name',
  'arguments',
])
const reference = {
  ...closed({ trajectory_id: text, session_id: text, trajectory_path: text, extra }),
  anyOf: [{ required: ['trajectory_id'] }, { required: ['trajectory_path'] }],
}
const result = closed({
  source_call_id: text,
  content,
  subagent_trajectory_ref: { type: 'array', items: reference },
  extra,
})
const step = closed(
  {
    step_id: { type: 'integer', minimum: 1 },
    timestamp: {
      type: 'string',
      pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?(Z|[+-]\\d\\d:\\d\\d)$',
    },
    source: { enum: ['system', 'user', 'agent'] },
    model_name: text,
    reasoning_effort: { oneOf: [text, { type: 'number' }] },
    message: content,
    reasoning_content: text,
    tool_calls: { type: 'array', items: call },
    observation: closed({ results: { type: 'array', items: result } }, ['results']),
    metrics,
    is_copied_context: { type: 'boolean' },
    llm_call_count: count,
    extra,
  },
  ['step_id', 'source', 'message'],
)
const schema = {
  $id: 'atif',
  ...closed(
    {
      schema_version: { const: 'ATIF-v1.7' },
      session_id: text,
      trajectory_id: text,
      agent: closed(
        {
          name: text,
          version: text,
          model_name: text,
          tool_definitions: { type: 'array', items: extra },
          extra,
        },
        ['name', 'version'],
      ),
      steps: { type: 'array', minItems: 1, items: step },
      notes: text,
      final_metrics: closed({
        total_prompt_tokens: count,
        total_completion_tokens: count,
        total_cached_tokens: count,
        total_cost_usd: { type: 'number' },
        total_steps: count,
        extra,
      }),
      continued_trajectory_ref: text,
      extra,
      subagent_trajectories: { type: 'array', items: { $ref: 'atif' } },
    },
    ['schema_version', 'agent', 'steps'],
  ),
}

export interface Trajectory {
  session_id: string
  trajectory_id: string
  agent: { name: string; version: string }
  notes?: string
  steps: {
    step_id: number
    source: string
    message: string
    reasoning_content?: string
    tool_calls?: { tool_call_id: string; function_name: string; arguments: Record<string, unknown> }[]
    observation?: {
      results: {
        source_call_id?: string
        content: string
        subagent_trajectory_ref?: { trajectory_id: string }[]
      }[]
    }
    metrics?: { prompt_tokens: number; completion_tokens: number; cached_tokens: number }
    llm_call_count?: number
  }[]
  final_metrics: { total_prompt_tokens: number; total_completion_tokens: number; total_steps: number }
  subagent_trajectories?: Trajectory[]
}

const validate = new Ajv({ strict: false, allErrors: true }).compile(schema)
const AGENT_ONLY = ['model_name', 'reasoning_effort', 'reasoning_content', 'tool_calls', 'metrics'] as const

/** Everything the format forbids in a document; empty when it is valid. */
export function atifProblems(document: unknown): string[] {
  if (!validate(document)) return (validate.errors ?? []).map((one) => `${one.instancePath} ${one.message}`)
  return rulesBroken(document as unknown as Trajectory)
}

function rulesBroken(document: Trajectory): string[] {
  const problems: string[] = []
  const children = document.subagent_trajectories ?? []
  const ids = children.map((child) => child.trajectory_id)
  if (ids.some((id) => id === undefined) || new Set(ids).size < ids.length)
    problems.push('embedded trajectories need ids of their own')
  for (const [at, one] of document.steps.entries()) {
    if (one.step_id !== at + 1) problems.push(`step ${at + 1} has the id ${one.step_id}`)
    if (one.source !== 'agent')
      for (const name of AGENT_ONLY) if (name in one) problems.push(`step ${one.step_id} has ${name}`)
    const calls = new Set(one.tool_calls?.map((known) => known.tool_call_id))
    for (const given of one.observation?.results ?? []) {
      if (given.source_call_id !== undefined && !calls.has(given.source_call_id))
        problems.push(`step ${one.step_id} answers an unknown call`)
      for (const ref of given.subagent_trajectory_ref ?? [])
        if (!ids.includes(ref.trajectory_id)) problems.push(`step ${one.step_id} refers to nothing`)
    }
  }
  return [...problems, ...children.flatMap(rulesBroken)]
}
