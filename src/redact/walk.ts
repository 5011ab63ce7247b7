// Visits every string of a parsed JSON value without recursion and without changing it: a branch is copied only when
// something in it changed. Owns the limits on depth and size.

/** Beyond these a value is no transcript record but an attack or a fault; the caller replaces it whole. */
const MAX_DEPTH = 10_000
const MAX_NODES = 5_000_000

/** A shorter key can be a name only. */
const MIN_KEY = 16

type Visit = (text: string, name: string) => string
type Container = unknown[] | Record<string, unknown>

interface Frame {
  node: Container
  /** undefined for an array. */
  keys: string[] | undefined
  index: number
  /** The name the container stands under; array elements are judged by it. */
  name: string
  changed: Map<number, unknown> | undefined
}

/** The value with strings replaced by `visit`; undefined when it is deeper or larger than we are willing to check. */
export function walk(
  root: unknown,
  visit: Visit,
  visitKey: (key: string) => string,
): { value: unknown } | undefined {
  if (typeof root === 'string') return { value: visit(root, '') }
  if (!isContainer(root)) return { value: root }
  const stack: Frame[] = [open(root, '')]
  let nodeCount = 0
  for (;;) {
    const frame = stack.at(-1) as Frame
    const size = frame.keys === undefined ? (frame.node as unknown[]).length : frame.keys.length
    if (frame.index === size) {
      const done = close(frame, visitKey)
      stack.pop()
      const parent = stack.at(-1)
      if (!parent) return { value: done }
      if (done !== frame.node) change(parent, parent.index, done)
      parent.index++
      continue
    }
    const child = childAt(frame)
    if (++nodeCount > MAX_NODES) return undefined
    if (isContainer(child)) {
      if (stack.length >= MAX_DEPTH) return undefined
      stack.push(open(child, nameOf(frame)))
      continue
    }
    if (typeof child === 'string') {
      const visited = visit(child, nameOf(frame))
      if (visited !== child) change(frame, frame.index, visited)
    }
    frame.index++
  }
}

function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)
}

function open(node: Container, name: string): Frame {
  return {
    node,
    keys: Array.isArray(node) ? undefined : Object.keys(node),
    index: 0,
    name,
    changed: undefined,
  }
}

function childAt(frame: Frame): unknown {
  return frame.keys === undefined
    ? (frame.node as unknown[])[frame.index]
    : (frame.node as Record<string, unknown>)[frame.keys[frame.index] as string]
}

function change(frame: Frame, index: number, value: unknown): void {
  frame.changed ??= new Map()
  frame.changed.set(index, value)
}

/** What names the current child: its key; for an element the flag before it or the array's own name. */
function nameOf(frame: Frame): string {
  if (frame.keys === undefined) {
    const before = frame.index > 0 ? (frame.node as unknown[])[frame.index - 1] : undefined
    return typeof before === 'string' && before.startsWith('-') && before.length < 40 ? before : frame.name
  }
  const key = frame.keys[frame.index] as string
  if (key !== 'value' && key !== 'Value') return key
  // `{ "name": "API_TOKEN", "value": "…" }`, as in container and CI configurations.
  const node = frame.node as Record<string, unknown>
  for (const other of ['name', 'key', 'Name', 'Key']) {
    const name = Object.hasOwn(node, other) ? node[other] : undefined
    if (typeof name === 'string') return name
  }
  return key
}

/** The finished container: itself when nothing changed, else a copy. */
function close(frame: Frame, visitKey: (key: string) => string): Container {
  const { node, keys, changed } = frame
  if (keys === undefined) {
    if (!changed) return node
    const copy = (node as unknown[]).slice()
    for (const [index, value] of changed) copy[index] = value
    return copy
  }
  const names = keys.some((key) => key.length >= MIN_KEY) ? keys.map(visitKey) : keys
  if (!changed && names.every((name, i) => name === keys[i])) return node
  const copy: Record<string, unknown> = {}
  names.forEach((name, i) => {
    const value = changed?.has(i) ? changed.get(i) : (node as Record<string, unknown>)[keys[i] as string]
    // Not an assignment: for the key `__proto__` that would set the prototype.
    Object.defineProperty(copy, name, { value, writable: true, enumerable: true, configurable: true })
  })
  return copy
}
