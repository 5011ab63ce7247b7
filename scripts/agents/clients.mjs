// The real agents, one table: which package, the version our fixtures were made with, how each is pointed at the scripted
// model and run without a terminal. Those with `register` take hooks and our MCP server, too. All lies below a temporary home.
//
//   flavor      the adapter's, where it is not the name in this table
//   checked     the version that test/fixtures/agents was made with; the drift check looks at the latest
//   needs       a program that runs it: `node` (22) or `bun`, installed beside it
//   program     what to start, from the directory of its packages and the programs it needs
//   env, settle the environment and the files that it finds
//   run         the arguments of one prompt
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import { HEADLESS } from './headless.mjs'

const PLATFORM = `${process.platform}-${process.arch}`

const WITH_HOOKS = {
  claude: {
    package: '@anthropic-ai/claude-code',
    checked: '2.1.325',
    fixtures: ['claude', 'claude-tui'],
    program: (modules) => [join(modules, `@anthropic-ai/claude-code-${PLATFORM}`, 'claude')],
    env: (url) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'dummy', DISABLE_AUTOUPDATER: '1' }),
    settle(home) {
      write(
        join(home, '.claude', 'settings.json'),
        '{\n  "permissions": { "allow": ["mcp__recollect", "Bash", "Edit", "Write"] }\n}\n',
      )
    },
    run: (prompt) => ['-p', '--output-format', 'json', prompt],
    register: (command) => ['mcp', 'add', '--scope', 'user', 'recollect', '--', ...command],
    list: ['mcp', 'list'],
    recalls: true,
    callTool({ tools, results }, wanted) {
      const named = wanted.map(([name, input]) => ({ tool: `mcp__recollect__${name}`, input }))
      const [next] = named.slice(results.filter(({ text }) => text.includes('notice')).length)
      if (!next || tools.includes(next.tool)) return next
      const query = `select:${named.map(({ tool }) => tool).join(',')}`
      return results.length === 0
        ? { tool: 'ToolSearch', input: { query, max_results: named.length } }
        : undefined
    },
  },
  codex: {
    package: '@openai/codex',
    checked: '0.166.0',
    fixtures: ['codex', 'codex-codemode', 'codex-tui'],
    program: (modules) => [
      join(modules, `@openai/codex-${PLATFORM}`, 'vendor', 'x86_64-unknown-linux-musl', 'bin', 'codex'),
    ],
    env: () => ({ MOCK_KEY: 'dummy' }),
    settle(home, url) {
      write(
        join(home, '.codex', 'config.toml'),
        `model = "gpt-5.5"
model_provider = "mock"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[feedback]
enabled = false
[model_providers.mock]
name = "mock"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
request_max_retries = 1
stream_max_retries = 1
`,
      )
    },
    // Trust is given by a person in the TUI; this flag stands for it.
    run: (prompt) => ['exec', '--dangerously-bypass-hook-trust', '--skip-git-repo-check', '--json', prompt],
    register: (command) => ['mcp', 'add', 'recollect', '--', ...command],
    list: ['mcp', 'list'],
    recalls: true,
    callTool({ tools, results, body }, wanted) {
      if (!tools.includes('tool_search')) return undefined
      const query = `recollect ${wanted.map(([name]) => name).join(' ')}`
      if (results.length === 0)
        return { tool: 'tool_search', isToolSearch: true, input: { query, limit: wanted.length } }
      const namespace = JSON.stringify(body).match(/"name":"(mcp__recollect\w*?)"/)?.[1]
      const [tool, input] = wanted[results.length - 1] ?? []
      return tool && namespace ? { tool, namespace, input } : undefined
    },
  },
  grok: {
    package: '@xai-official/grok',
    checked: '1.0.41',
    fixtures: ['grok', 'grok-chat', 'grok-messages', 'grok-tui'],
    program(modules) {
      // Its install script would unpack this into the real home.
      const program = join(modules, '.recollect-grok')
      const packed = join(modules, `@xai-official/grok-${PLATFORM}`, 'bin', 'grok.br')
      if (!existsSync(program))
        writeFileSync(program, brotliDecompressSync(readFileSync(packed)), { mode: 0o755 })
      return [program]
    },
    env: (url) => ({
      XAI_API_KEY: 'dummy',
      GROK_MODELS_BASE_URL: `${url}/v1`,
      GROK_CLI_CHAT_PROXY_BASE_URL: `${url}/v1`,
      GROK_XAI_API_BASE_URL: `${url}/v1`,
    }),
    settle(home, url) {
      write(
        join(home, '.grok', 'config.toml'),
        `[models]
default = "grok-4.6"
max_retries = 1

[model."grok-4.6"]
model = "grok-4.6"
base_url = "${url}/v1"
name = "Scripted"
api_key = "dummy"
api_backend = "responses"
context_window = 256000
`,
      )
    },
    run: (prompt) => ['-p', prompt, '--output-format', 'json', '--always-approve'],
    register: (command) => ['mcp', 'add', 'recollect', '--', ...command],
    list: ['mcp', 'list'],
    callTool({ tools, results }, wanted) {
      if (!tools.includes('use_tool')) return undefined
      if (results.length === 0) return { tool: 'search_tool', input: { query: 'recollect search' } }
      const found = results[0].text.match(/\brecollect\w*search\b/)?.[0]
      const [name, tool_input] = wanted[results.length - 1] ?? []
      return name && found
        ? { tool: 'use_tool', input: { tool_name: found.replace(/search$/, name), tool_input } }
        : undefined
    },
  },
}

function write(path, text) {
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, text)
}

export const CLIENTS = { ...WITH_HOOKS, ...HEADLESS }
