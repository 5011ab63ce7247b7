// Generates session files of the shape measured in the field: sizes p50 105 KB, p90 650 KB, p99 5.4 MB, one of 87 MB.
// Deterministic. Text is sampled from the TypeScript compiler's own source, which stands in node_modules.
//   node bench/corpus.mjs DIR [--sessions 3000] [--seed 1] [--scale 1]
import { createHash } from 'node:crypto'
import { closeSync, futimesSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const compiler = createRequire(import.meta.url).resolve('typescript')
const source = readFileSync(compiler, 'utf8').split('\n')
// English sentences: the documentation comments of the browser's interfaces.
const sentences = (
  readFileSync(join(dirname(compiler), 'lib.dom.d.ts'), 'utf8').match(/^ *\* +\*?\*?[A-Z].{30,}$/gm) ?? []
).map((line) => line.replace(/^ *\* +/, ''))

/** mulberry32 */
function random(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

class Session {
  constructor(seed, index) {
    this.next = random(seed * 7919 + index)
    this.index = index
    this.id = this.uuid()
    this.parent = null
    this.at = Date.UTC(2026, 0, 1) + index * 3_600_000
    this.calls = 0
    this.logsRequests = index % 3 === 0
  }

  uuid() {
    const hex = createHash('md5').update(`${this.index}:${this.next()}`).digest('hex')
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`
  }

  code(lines) {
    const start = Math.floor(this.next() * (source.length - lines))
    return source.slice(start, start + lines).join('\n')
  }

  prose(words) {
    let out = ''
    for (let at = Math.floor(this.next() * sentences.length); out.length < words * 6; at++) {
      out += `${out === '' ? '' : ' '}${sentences[at % sentences.length]}`
    }
    return out.slice(0, words * 6)
  }

  line(type, message, extra = {}) {
    const uuid = this.uuid()
    this.at += 200 + Math.floor(this.next() * 20_000)
    const record = {
      parentUuid: this.parent,
      isSidechain: false,
      userType: 'external',
      cwd: `/home/dev/project-${this.index % 40}`,
      sessionId: this.id,
      version: '2.1.200',
      gitBranch: this.index % 7 === 0 ? `feature/ABC-${this.index}` : 'main',
      type,
      message,
      ...extra,
      uuid,
      timestamp: new Date(this.at).toISOString(),
    }
    this.parent = uuid
    return `${JSON.stringify(record)}\n`
  }

  /** One prompt and what follows from it: lines that share a message id, tool results that stand twice in a line. */
  turn() {
    const lines = [
      this.line(
        'user',
        { role: 'user', content: `${this.prose(20)} ${this.index}` },
        { promptSource: 'typed' },
      ),
    ]
    const steps = 1 + Math.floor(this.next() * 5)
    for (let step = 0; step < steps; step++) {
      const id = `msg_${this.uuid().replaceAll('-', '').slice(0, 24)}`
      const usage = {
        input_tokens: 5 + Math.floor(this.next() * 50),
        cache_creation_input_tokens: Math.floor(this.next() * 4000),
        cache_read_input_tokens: Math.floor(this.next() * 90_000),
        output_tokens: 20 + Math.floor(this.next() * 900),
      }
      const say = (block) =>
        this.line(
          'assistant',
          { id, type: 'message', role: 'assistant', model: 'claude-opus-5-5', content: [block], usage },
          { requestId: `req_${id}` },
        )
      if (this.next() < 0.4)
        lines.push(say({ type: 'thinking', thinking: this.prose(60), signature: 'c2ln'.repeat(40) }))
      if (this.logsRequests) lines.push(this.request(id))
      lines.push(say({ type: 'text', text: this.prose(40) }))
      lines.push(...this.tool(say))
    }
    return lines
  }

  /** Newer clients also write down each request they make; a third of the sessions are theirs. */
  request(id) {
    const names = Array.from({ length: 30 }, (_, at) => `tool_${at}`)
    return `${JSON.stringify({ type: 'api-request', sessionId: this.id, requestId: id, model: 'claude-opus-5-5', tools: names, timestamp: new Date(this.at).toISOString(), messageRefs: names.map((name) => `${name}:${this.index}`) })}\n`
  }

  tool(say) {
    const id = `toolu_${this.index}_${this.calls++}`
    const file = `src/part${Math.floor(this.next() * 90)}/parseLine${Math.floor(this.next() * 9)}.ts`
    const kind = this.next()
    const output = this.code(10 + Math.floor(this.next() ** 3 * 260))
    const result = (content, toolUseResult) =>
      this.line(
        'user',
        { role: 'user', content: [{ tool_use_id: id, type: 'tool_result', content }] },
        { toolUseResult },
      )
    if (kind < 0.4) {
      const numbered = output
        .split('\n')
        .map((text, at) => `${String(at + 1).padStart(6)}→${text}`)
        .join('\n')
      return [
        say({ type: 'tool_use', id, name: 'Read', input: { file_path: file } }),
        result(numbered, {
          type: 'text',
          file: { filePath: file, content: output, numLines: 1, startLine: 1, totalLines: 1 },
        }),
      ]
    }
    if (kind < 0.75) {
      const command = this.next() < 0.3 ? 'npm test' : `grep -rn "${this.prose(1)}" src --include='*.ts'`
      return [
        say({ type: 'tool_use', id, name: 'Bash', input: { command, description: this.prose(5) } }),
        result(output, { stdout: output, stderr: '', interrupted: false, isImage: false }),
      ]
    }
    const [oldText, newText] = [this.code(6), this.code(7)]
    return [
      say({
        type: 'tool_use',
        id,
        name: 'Edit',
        input: { file_path: file, old_string: oldText, new_string: newText },
      }),
      result(`The file ${file} has been updated.`, {
        filePath: file,
        oldString: oldText,
        newString: newText,
        structuredPatch: [],
        userModified: false,
      }),
    ]
  }
}

/** Log-normal through the measured quantiles: median 105 KB, p90 650 KB, p99 about 5 MB. */
function sizeOf(next, index) {
  if (index === 0) return 87e6
  const normal = Math.sqrt(-2 * Math.log(next() || 1e-9)) * Math.cos(2 * Math.PI * next())
  return Math.min(40e6, 105e3 * Math.exp(normal * (normal > 1.5 ? 1.65 : 1.42)))
}

/** Writes the corpus below `directory` as an agent's home would hold it; returns what was written. */
export function generate(directory, { sessions = 3000, seed = 1, withGiant = true, scale = 1 } = {}) {
  const sizes = random(seed)
  let bytes = 0
  const files = []
  for (let index = withGiant ? 0 : 1; index < sessions + (withGiant ? 0 : 1); index++) {
    const session = new Session(seed, index)
    const target = scale * sizeOf(sizes, index)
    const folder = join(directory, '.claude', 'projects', `-home-dev-project-${index % 40}`)
    mkdirSync(folder, { recursive: true })
    const path = join(folder, `${session.id}.jsonl`)
    const fd = openSync(path, 'w')
    let size = 0
    while (size < target) {
      const text = session.turn().join('')
      writeSync(fd, text)
      size += Buffer.byteLength(text)
    }
    futimesSync(fd, session.at / 1000, session.at / 1000)
    closeSync(fd)
    bytes += size
    files.push(path)
  }
  return { bytes, files }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [directory, ...rest] = process.argv.slice(2)
  const option = (name, fallback) => (rest.includes(name) ? Number(rest[rest.indexOf(name) + 1]) : fallback)
  if (!directory) throw new Error('usage: node bench/corpus.mjs DIR [--sessions N] [--seed N] [--scale X]')
  const made = generate(directory, {
    sessions: option('--sessions', 3000),
    seed: option('--seed', 1),
    scale: option('--scale', 1),
  })
  console.log(`${made.files.length} sessions, ${(made.bytes / 1e6).toFixed(1)} MB`)
}
