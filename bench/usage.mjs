// `recollect usage` over all of history, beside ccusage on the same files where that is installed:
//   npm run bench:usage [-- --sessions 20000 --keep DIR]
//   RECOLLECT_BENCH_CCUSAGE=/path/to/ccusage/cli   (npm install ccusage in a directory of its own)
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { measure, median, option, say } from './measure.mjs'

const sessions = option('--sessions', 20_000)
const cli = fileURLToPath(new URL('../dist/cli.cjs', import.meta.url))
/** What is kept can be measured again without sweeping. */
const kept = process.argv.includes('--keep') ? process.argv[process.argv.indexOf('--keep') + 1] : undefined
const root = kept ?? mkdtempSync(join(tmpdir(), 'recollect-bench-'))
if (!kept) process.on('exit', () => rmSync(root, { recursive: true, force: true }))

const MODELS = [
  'claude-opus-4-5',
  'claude-sonnet-4-5-20250929',
  'claude-haiku-4-5-20251001',
  'claude-opus-4-1-20250805',
]
const DAYS = 300
/** They end today. */
const START = Date.now() - DAYS * 86_400_000

/** xorshift */
let state = 1
function random() {
  state ^= state << 13
  state ^= state >>> 17
  state ^= state << 5
  state >>>= 0
  return state / 2 ** 32
}
const upTo = (most) => Math.floor(random() * most)

/** Two to nine responses, some minutes apart; sessions are spread over ten months. */
function session(index) {
  const name = String(index).padStart(8, '0')
  const id = `${name}-0000-4000-a000-000000000000`
  let at = START + Math.floor((index / sessions) * DAYS * 86_400_000)
  const lines = []
  const line = (type, message, extra) => {
    const uuid = `${name}-${String(lines.length).padStart(4, '0')}-4000-a000-000000000001`
    at += 1000 + upTo(60_000)
    lines.push(
      JSON.stringify({
        parentUuid: null,
        isSidechain: false,
        cwd: `/home/dev/p-${index % 100}`,
        sessionId: id,
        version: '2.1.200',
        type,
        message,
        ...extra,
        uuid,
        timestamp: new Date(at).toISOString(),
      }),
    )
  }
  line('user', { role: 'user', content: `prompt ${index}` })
  const count = 2 + upTo(8)
  for (let step = 0; step < count; step++) {
    const usage = {
      input_tokens: 5 + upTo(500),
      cache_creation_input_tokens: upTo(9000),
      cache_read_input_tokens: upTo(150_000),
      output_tokens: upTo(2000),
    }
    const message = {
      id: `msg_${index}_${step}`,
      type: 'message',
      role: 'assistant',
      model: MODELS[(index + (step > 5)) % MODELS.length],
      content: [{ type: 'text', text: `answer ${step}` }],
      usage,
    }
    line('assistant', message, { requestId: `req_${index}_${step}` })
  }
  return { name: `${id}.jsonl`, text: `${lines.join('\n')}\n` }
}

const at = { home: join(root, 'home'), memory: join(root, 'memory') }
say('machine', `${cpus().length} cores, Node ${process.version}`)
if (!existsSync(at.memory)) {
  let bytes = 0
  for (let index = 0; index < sessions; index++) {
    const folder = join(at.home, '.claude', 'projects', `-home-dev-p-${index % 100}`)
    mkdirSync(folder, { recursive: true })
    const { name, text } = session(index)
    writeFileSync(join(folder, name), text)
    bytes += text.length
  }
  say('corpus', `${sessions} sessions, ${(bytes / 1e6).toFixed(0)} MB`)
  const sweep = measure([cli, 'sweep'], at)
  say('sweep, once', `${sweep.cpu.toFixed(1)} s CPU`)
}
const bare = median(9, () => measure(['-e', '0']))
const usage = median(9, () => measure([cli, 'usage', '--timezone', 'UTC', '--json'], at))
say(
  'recollect usage, all of history',
  `${(usage.cpu * 1000).toFixed(0)} ms CPU, bare Node ${(bare.cpu * 1000).toFixed(0)} ms`,
)
say('  over bare Node (target 150 ms)', `${((usage.cpu - bare.cpu) * 1000).toFixed(0)} ms`)

const peer = process.env.RECOLLECT_BENCH_CCUSAGE
try {
  if (!peer || !existsSync(peer)) throw new Error('RECOLLECT_BENCH_CCUSAGE does not name its program')
  const theirs = median(3, () => measure([peer, 'daily', '--json', '--offline', '--timezone', 'UTC'], at))
  say('ccusage daily', `${theirs.cpu.toFixed(2)} s CPU, ${(theirs.cpu / usage.cpu).toFixed(1)}x ours`)
  const ours = JSON.parse(usage.stdout).total.total_tokens
  const total = JSON.parse(theirs.stdout).totals.totalTokens
  say('  the same tokens', ours === total ? 'yes' : `no: ${ours} and ${total}`)
} catch (error) {
  say('ccusage', `skipped: ${error.message.split('\n')[0]}`)
}
