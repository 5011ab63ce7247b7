// Tries the built MCP server with the official inspector's command line and the official conformance suite. Both are
// installed into a temporary directory, with a Node of their own since they need a newer one; nothing stays behind.
// Of the suite those scenarios are run that need no tool, prompt or resource made for the suite; single checks that do
// are counted as not applicable.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'

const PACKAGES = [
  `node-linux-${process.arch}@22.23.3`,
  '@modelcontextprotocol/inspector@2.12.0',
  '@modelcontextprotocol/conformance@0.2.0-alpha.12',
]
const SCENARIOS = {
  '2025-06-18': ['server-initialize', 'ping', 'tools-list'],
  '2025-11-25': ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'],
  '2026-07-28': [
    'server-stateless',
    'tools-list',
    'dns-rebinding-protection',
    'caching',
    'http-header-validation',
  ],
}
/** Checks that call tools made for the suite, and lists of what we do not offer. */
const NOT_APPLICABLE = /^Not testable: |^(?:prompts|resources)\/\S+ returned JSON-RPC error -32601/
const CLI = resolve(import.meta.dirname, '..', 'dist', 'cli.cjs')
const base = mkdtempSync(join(tmpdir(), 'recollect-inspector-'))
const home = join(base, 'home')
mkdirSync(join(home, '.claude', 'projects', '-w'), { recursive: true })
const bin = join(base, 'node_modules', `node-linux-${process.arch}`, 'bin')
const env = { HOME: home, RECOLLECT_HOME: join(base, 'memory'), PATH: `${bin}:${process.env.PATH}` }
const failures = []
const children = []

function report(name, isOk, detail = '') {
  console.log(`${isOk ? 'ok  ' : 'FAIL'} ${name}${detail ? `  ${detail}` : ''}`)
  if (!isOk) failures.push(name)
}

function install() {
  writeFileSync(join(base, 'package.json'), '{"private":true}')
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', ['install', ...flags, ...PACKAGES], {
    cwd: base,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

function remember() {
  const session = '11111111-1111-4111-8111-111111111111'
  const record = {
    type: 'user',
    uuid: 'a',
    parentUuid: null,
    sessionId: session,
    cwd: '/w',
    version: '2.1.325',
    timestamp: new Date().toISOString(),
    message: { role: 'user', content: 'Where does the zebra live?' },
  }
  writeFileSync(join(home, '.claude', 'projects', '-w', `${session}.jsonl`), `${JSON.stringify(record)}\n`)
  execFileSync(process.execPath, [CLI, 'sweep'], { env, stdio: 'ignore' })
}

function inspect(target, ...args) {
  const inspector = join(base, 'node_modules', '.bin', 'mcp-inspector')
  const done = spawnSync(inspector, ['--cli', ...target, ...args], { env, encoding: 'utf8', timeout: 60_000 })
  return { code: done.status, stdout: done.stdout ?? '', stderr: done.stderr ?? '' }
}

function runInspector(name, target) {
  const listed = inspect(target, '--method', 'tools/list', '--strict')
  report(`inspector, ${name}, tools/list --strict`, listed.code === 0, listed.code === 0 ? '' : listed.stderr)
  for (const [tool, args, expected] of [
    ['search', ['query=zebra'], 'zebra'],
    ['session', [], '11111111'],
    ['session', ['id=@last'], 'zebra'],
    ['context', ['id=@last#1'], 'zebra'],
    ['digest', ['id=@last'], 'zebra'],
    ['lineage', ['id=@last'], '11111111'],
    ['usage', [], 'tokens'],
    ['patterns', ['error=Error: no zebra'], 'not met before'],
  ]) {
    const given = args.flatMap((pair) => ['--tool-arg', pair])
    const called = inspect(target, '--method', 'tools/call', '--tool-name', tool, ...given)
    const isOk = called.code === 0 && called.stdout.includes(expected)
    report(`inspector, ${name}, ${tool} ${args.join(' ')}`, isOk, isOk ? '' : called.stderr || called.stdout)
  }
}

async function serve() {
  const child = spawn(process.execPath, [CLI, 'mcp', 'serve', '--http', '0'], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  children.push(child)
  let url = ''
  for await (const line of createInterface({ input: child.stderr })) {
    url ||= /^listening on (\S+)$/.exec(line)?.[1] ?? ''
    const token = /^token: (\S+)$/.exec(line)?.[1]
    if (token) return { url, token }
  }
  throw new Error('the server ended before it listened')
}

/** The suite knows of no token: this adds it and changes nothing else. */
async function withToken({ url, token }) {
  const { port } = new URL(url)
  const proxy = createServer((asked, answer) => {
    const headers = { ...asked.headers, authorization: `Bearer ${token}` }
    const sent = request(
      { host: '127.0.0.1', port, path: asked.url, method: asked.method, headers },
      (got) => {
        answer.writeHead(got.statusCode, got.headers)
        got.pipe(answer)
      },
    )
    sent.once('error', () => answer.destroy())
    asked.pipe(sent)
  })
  await new Promise((done) => proxy.listen(0, '127.0.0.1', done))
  return { url: `http://127.0.0.1:${proxy.address().port}/mcp`, close: () => proxy.close() }
}

function runScenario(url, version, scenario) {
  const suite = join(base, 'node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js')
  const args = [suite, 'server', '--url', url, '--scenario', scenario, '--spec-version', version]
  return new Promise((done) => {
    const child = spawn(join(bin, 'node'), args, { env, cwd: base, stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk))
    child.once('exit', () => {
      const errors = [...said.matchAll(/^ +Error: (.*)$/gm)].map(([, text]) => text)
      const ours = errors.filter((text) => !NOT_APPLICABLE.test(text))
      const passed = /Passed: (\d+\/\d+)/.exec(said)?.[1]
      const isOk = passed !== undefined && ours.length === 0
      const rest = errors.length - ours.length
      const detail = `${passed} checks${rest > 0 ? `, ${rest} not applicable` : ''}`
      report(`conformance ${version} ${scenario}`, isOk, isOk ? detail : ours.join('\n') || said.slice(-2000))
      done()
    })
  })
}

try {
  install()
  remember()
  const given = ['HOME', 'RECOLLECT_HOME'].flatMap((name) => ['-e', `${name}=${env[name]}`])
  runInspector('stdio', [process.execPath, CLI, 'mcp', ...given])
  const server = await serve()
  runInspector('http', [server.url, '--header', `Authorization: Bearer ${server.token}`])
  const proxy = await withToken(server)
  for (const [version, scenarios] of Object.entries(SCENARIOS))
    for (const scenario of scenarios) await runScenario(proxy.url, version, scenario)
  proxy.close()
} finally {
  for (const child of children) child.kill()
  rmSync(base, { recursive: true, force: true })
}
console.log(failures.length === 0 ? 'everything passed' : `${failures.length} failed`)
process.exitCode = failures.length === 0 ? 0 : 1
