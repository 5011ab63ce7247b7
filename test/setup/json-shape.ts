// The shape of JSON documents as lines `path: types`, made from examples, and the same lines read back from a document.

/** Maps whose keys are data: one line stands for all of them. */
const MAPS = new Set([
  'redactions',
  'gaps',
  'unknown',
  'tool_histogram',
  'kind_counts',
  'bucket_shares',
  'evidence',
])
/** Whatever an agent or a person wrote. */
const ANY = new Set(['payload', 'value', 'input'])

export interface Field {
  types: Set<string>
  isOptional: boolean
}
export type Shape = Map<string, Field>

/** Adds what one document has to a shape. */
export function addShape(shape: Shape, document: unknown): Shape {
  const owners = new Map<string, number>()
  const found = new Map<string, number>()
  const visit = (value: unknown, path: string): void => {
    if (Array.isArray(value)) {
      if (value.length === 0) note(path, '[]')
      else for (const one of value) visit(one, `${path}[]`)
    } else if (typeof value === 'object' && value !== null) {
      owners.set(path, (owners.get(path) ?? 0) + 1)
      const isMap = MAPS.has(path.split(/[.[]/).at(-1) ?? '')
      if (isMap && Object.keys(value).length === 0) note(path, '{}')
      for (const [key, inner] of Object.entries(value)) {
        const at = `${path === '' ? '' : `${path}.`}${isMap ? '*' : key}`
        if (!isMap) found.set(at, (found.get(at) ?? 0) + 1)
        if (ANY.has(key)) note(at, 'any')
        else visit(inner, at)
      }
    } else note(path, value === null ? 'null' : typeof value)
  }
  const note = (path: string, type: string): void => {
    const field = shape.get(path) ?? { types: new Set(), isOptional: false }
    field.types.add(type)
    shape.set(path, field)
  }
  visit(document, '')
  for (const [path, field] of shape) {
    const owner = path.replace(/(?:^|\.)[^.]*$/, '')
    const own = [...found].find(([key]) => key === path || key === path.replace(/(?:\[\])+$/, ''))
    if (owners.has(owner) && !path.endsWith('*') && (own?.[1] ?? 0) < (owners.get(owner) as number))
      field.isOptional = true
  }
  return shape
}

/** Sorted as they came; an empty list says nothing once a full one was seen. */
export function shapeLines(shape: Shape): string[] {
  const lines: string[] = []
  for (const [path, { types, isOptional }] of shape) {
    const isKnown = [...shape.keys()].some(
      (key) => key.startsWith(`${path}[]`) || key.startsWith(`${path}.*`),
    )
    const told = [...types].filter((type) => !(isKnown && (type === '[]' || type === '{}'))).sort()
    if (told.length > 0) lines.push(`${path}${isOptional ? '?' : ''}: ${told.join(' | ')}`)
  }
  return lines
}

/** `path?: a | b` */
const parse = (line: string): { path: string; isOptional: boolean; types: string[] } => {
  const [, path, mark, types] = /^(.*?)(\??): (.*)$/.exec(line) as unknown as [string, string, string, string]
  return { path, isOptional: mark === '?', types: types.split(' | ') }
}

/** What the examples have and the document does not say, and what it says of and no example has. */
export function differences(seen: readonly string[], documented: readonly string[]): string[] {
  const told = new Map(documented.map((line) => [parse(line).path, parse(line)]))
  const wrong: string[] = []
  for (const { path, isOptional, types } of seen.map(parse)) {
    const field = told.get(path)
    told.delete(path)
    if (!field) wrong.push(`${path} is not documented`)
    else if (isOptional && !field.isOptional) wrong.push(`${path} is sometimes missing`)
    else for (const type of types) if (!field.types.includes(type)) wrong.push(`${path} is also ${type}`)
  }
  return [...wrong, ...[...told.keys()].map((path) => `${path} never comes`)]
}

/** The documented lines in their order, with every type either has, then those that are new. What was not seen is left out. */
export function merged(seen: readonly string[], documented: readonly string[]): string[] {
  const now = new Map(seen.map((line) => [parse(line).path, parse(line)]))
  const told = new Map(
    documented.filter((line) => line.includes(': ')).map((line) => [parse(line).path, parse(line)]),
  )
  return [...new Set([...told.keys(), ...now.keys()])]
    .filter((path) => now.has(path))
    .map((path) => {
      const both = [told.get(path), now.get(path)].filter((one) => one !== undefined)
      const types = [...new Set(both.flatMap((one) => one.types))].sort()
      return `${path}${both.some((one) => one.isOptional) ? '?' : ''}: ${types.join(' | ')}`
    })
}

/** The code block below each `## <command>` of a document. */
export function documentedLines(markdown: string): Map<string, string[]> {
  const sections = new Map<string, string[]>()
  for (const [, name, body] of markdown.matchAll(/^## (.+)\n(?:(?!^## )[\s\S])*?^```\n([\s\S]*?)^```$/gm))
    sections.set(name as string, (body as string).trim().split('\n'))
  return sections
}
