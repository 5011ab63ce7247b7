// docs/fleet-openapi.json is what src/contract.ts makes of it, and docs/fleet-api.md tells every route of it.
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { CONTRACT_VERSION, refusal } from '../src/contract.ts'
import { ROUTES, type Route } from '../src/fleet/routes.ts'

const schemaOf = (type: z.ZodType): unknown => {
  const { $schema: _, ...schema } = z.toJSONSchema(type, { unrepresentable: 'any' }) as Record<
    string,
    unknown
  >
  return schema
}
const json = (schema: unknown): unknown => ({ 'application/json': { schema } })

function operationOf({ summary, roles, query, body, answer, path, statuses }: Route): unknown {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const inQuery = Object.entries(query ?? {}).map(([name, description]) => ({
    name,
    in: 'query',
    description,
    schema: { type: 'string' },
  }))
  const refused = Object.entries(statuses).filter(([status]) => Number(status) >= 400 && status !== '412')
  return {
    summary,
    'x-roles': roles,
    security: [{ token: [] }, ...(roles.includes('device') ? [] : [{ password: [] }])],
    parameters: [...inPath, ...inQuery],
    ...(body ? { requestBody: { required: true, content: json(schemaOf(body)) } } : {}),
    responses: {
      ...Object.fromEntries(
        Object.entries(statuses).map(([status, description]) => [status, { description }]),
      ),
      ...(answer
        ? { 200: { description: statuses[200] ?? 'the answer', content: json(schemaOf(answer)) } }
        : {}),
      ...Object.fromEntries(
        refused.map(([status, description]) => [
          status,
          { description, content: json({ $ref: '#/components/schemas/Refusal' }) },
        ]),
      ),
    },
  }
}

function documentOf(): unknown {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of Object.values(ROUTES) as Route[]) {
    paths[route.path] ??= {}
    ;(paths[route.path] as Record<string, unknown>)[route.method.toLowerCase()] = operationOf(route)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Recollect team server',
      version: `${CONTRACT_VERSION}`,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    paths,
    components: {
      schemas: { Refusal: schemaOf(refusal) },
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        password: { type: 'http', scheme: 'basic' },
      },
    },
  }
}

it('the OpenAPI file is what the contract makes of it (vitest -u writes it)', async () => {
  await expect(`${JSON.stringify(documentOf(), null, 2)}\n`).toMatchFileSnapshot('../docs/fleet-openapi.json')
})

it('the page tells every route with who may use it, every status and every level', () => {
  const page = readFileSync('docs/fleet-api.md', 'utf8')
  for (const { method, path, roles, statuses } of Object.values(ROUTES) as Route[]) {
    const line = page.split('\n').find((one) => one.startsWith(`| \`${method} ${path}\` |`))
    expect([method, path, line]).toEqual([method, path, expect.stringContaining(roles.join(', '))])
    for (const status of Object.keys(statuses)) expect(page).toContain(`\`${status}\``)
  }
  // Every field of a push, by name.
  const { properties } = schemaOf(ROUTES.putSession.body) as {
    properties: Record<string, { properties?: object; items?: { properties?: object } }>
  }
  const fields = Object.entries(properties).flatMap(([name, one]) => [
    name,
    ...Object.keys(one.properties ?? one.items?.properties ?? {}),
  ])
  expect(fields.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
})
