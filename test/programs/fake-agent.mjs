// Stands for an agent's program where the real one cannot be: keeps MCP servers in a file and prints what the real one
// (claude 2.1.325, codex 0.166.0, grok 1.0.41) prints. Called through links named after each agent.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

const agent = basename(process.argv[1])
const args = process.argv.slice(2)
const file = join(dirname(process.argv[1]), `${agent}.json`)
const servers = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
appendFileSync(join(dirname(process.argv[1]), 'calls.txt'), `${agent} ${args.join(' ')}\n`)

const say = (text, code = 0) => {
  process.stdout.write(`${text}\n`)
  process.exit(code)
}
if (process.env.FAKE_AGENT_SAYS) say(process.env.FAKE_AGENT_SAYS, Number(process.env.FAKE_AGENT_EXIT))
const [mcp, verb, ...rest] = args.filter((part, at) => part !== '--scope' && args[at - 1] !== '--scope')
if (mcp !== 'mcp') say('what?', 2)
const [name] = rest
if (verb === 'add') {
  if (agent === 'claude' && servers[name]) say(`MCP server ${name} already exists in user config`, 1)
  const [command, ...more] = rest.slice(rest.indexOf('--') + 1)
  servers[name] = { command, args: more, options: rest.slice(1, rest.indexOf('--')) }
} else if (verb === 'remove') {
  if (!servers[name]) say(`No MCP server named "${name}"`, agent === 'codex' ? 0 : 1)
  delete servers[name]
} else if (verb === 'list') {
  say(
    JSON.stringify(
      Object.entries(servers).map(([key, one]) => ({ ...one, enabled: true, name: key, scope: 'user' })),
    ),
  )
} else if (!servers[name]) {
  say(`No MCP server named "${name}"`, 1)
} else if (agent === 'claude') {
  const { command, args: given } = servers[name]
  say(
    `${name}:\n  Scope: User config\n  Status: ✔ Connected\n  Type: stdio\n  Command: ${command}\n  Args: ${given.join(' ')}`,
  )
} else {
  say(JSON.stringify({ name, enabled: true, transport: { type: 'stdio', ...servers[name] } }))
}
writeFileSync(file, JSON.stringify(servers))
