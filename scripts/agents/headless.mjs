// Clients that are run for what they write down alone: clients.mjs says what the fields mean.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const PLATFORM = `${process.platform}-${process.arch}`
const KEY = 'dummy-not-a-key'

const script = (needs, ...path) =>
  function program(modules, programs) {
    return [programs[needs], join(modules, ...path)]
  }

function put(home, path, content) {
  const file = join(home, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
}

const LIMITS = { contextWindow: 128000, maxTokens: 8192 }
const COST = { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1.25 }
const PI_MODEL = { id: 'mock-model', name: 'Mock', reasoning: true, input: ['text'], cost: COST, ...LIMITS }

const pi = {
  flavor: 'pi',
  fixtures: ['pi', 'pi-0.87'],
  env: () => ({ MOCK_KEY: KEY }),
  settle(home, url) {
    const mock = { baseUrl: url, api: 'anthropic-messages', apiKey: 'MOCK_KEY', models: [PI_MODEL] }
    put(home, '.pi/agent/models.json', { providers: { mock } })
  },
  run: (prompt) => ['--provider', 'mock', '--model', 'mock-model', '-p', prompt],
}

/** opencode, and its fork. */
const opencode = (name) => ({
  fixtures: [name],
  env: () => ({}),
  settle(home, url) {
    const limit = { context: 128000, output: 8192 }
    const models = { 'mock-model': { name: 'Mock', limit }, 'mock-small': { name: 'Small', limit } }
    const options = { baseURL: `${url}/v1`, apiKey: KEY }
    put(home, `.config/${name}/${name}.json`, {
      autoupdate: false,
      share: 'disabled',
      permission: { '*': 'allow' },
      model: 'mock/mock-model',
      small_model: 'mock/mock-small',
      provider: { mock: { npm: '@ai-sdk/openai-compatible', name: 'Mock', options, models } },
    })
  },
})

const QUIET = {
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false },
  telemetry: { enabled: false },
}

export const HEADLESS = {
  cline: {
    package: 'cline',
    checked: '3.0.65',
    fixtures: ['cline'],
    program: (modules) => [join(modules, `@cline/cli-${PLATFORM}`, 'bin', 'cline')],
    env: () => ({ CLINE_TELEMETRY_DISABLED: '1' }),
    settle(home, url) {
      const settings = {
        provider: 'anthropic',
        apiKey: KEY,
        model: 'claude-sonnet-4-5',
        baseUrl: `${url}/v1`,
      }
      const anthropic = { settings, updatedAt: '2026-11-16T00:00:00.000Z', tokenSource: 'manual' }
      const file = '.cline/data/settings/providers.json'
      put(home, file, { version: 1, lastUsedProvider: 'anthropic', modes: {}, providers: { anthropic } })
    },
    run: (prompt) => [
      ...['--json', '--auto-approve', 'true'],
      ...['-P', 'anthropic', '-m', 'claude-sonnet-4-5', prompt],
    ],
  },
  continue: {
    package: '@continuedev/cli',
    checked: '1.5.47',
    fixtures: ['continue'],
    needs: 'node',
    program: script('node', '@continuedev', 'cli', 'dist', 'cn.js'),
    env: () => ({ CONTINUE_TELEMETRY_ENABLED: '0' }),
    settle(home, url) {
      const model = `name: mock
    provider: anthropic
    model: mock-model
    apiBase: ${url}/v1
    apiKey: ${KEY}
    contextLength: 128000
    roles: [chat, edit, apply]
    capabilities: [tool_use]`
      put(home, '.continue/config.yaml', `name: Local\nversion: 1.0.0\nschema: v1\nmodels:\n  - ${model}\n`)
    },
    run: (prompt, home) => ['--config', join(home, '.continue', 'config.yaml'), '--auto', '-p', prompt],
  },
  copilot: {
    package: '@github/copilot',
    checked: '1.0.102',
    fixtures: ['copilot'],
    program: (modules) => [join(modules, '@github', `copilot-${PLATFORM}`, 'copilot')],
    env: (url) => ({
      COPILOT_OFFLINE: 'true',
      COPILOT_AUTO_UPDATE: 'false',
      COPILOT_PROVIDER_BASE_URL: url,
      COPILOT_PROVIDER_TYPE: 'anthropic',
      COPILOT_PROVIDER_API_KEY: KEY,
      COPILOT_MODEL: 'claude-sonnet-4.5',
    }),
    settle() {},
    run: (prompt) => ['--allow-all-tools', '-p', prompt],
  },
  droid: {
    package: `@factory/cli-${PLATFORM}`,
    checked: '0.225.2',
    fixtures: ['droid'],
    program: (modules) => [join(modules, '@factory', `cli-${PLATFORM}`, 'bin', 'droid')],
    // Its own servers: without an answer it does not start offline.
    env: (url) => ({ FACTORY_API_KEY: 'fk-dummy', FACTORY_API_BASE_URL: url }),
    settle(home, baseUrl) {
      const model = {
        model: 'mock-model',
        id: 'custom:mock-0',
        index: 0,
        baseUrl,
        apiKey: KEY,
        displayName: 'mock',
      }
      const customModels = [{ ...model, maxOutputTokens: 8192, provider: 'anthropic' }]
      put(home, '.factory/settings.json', { customModels })
    },
    run: (prompt) => ['exec', '--auto', 'high', '-m', 'custom:mock-0', '-o', 'json', prompt],
  },
  gemini: {
    package: '@google/gemini-cli',
    checked: '0.61.0',
    fixtures: ['gemini'],
    needs: 'node',
    program: script('node', '@google', 'gemini-cli', 'bundle', 'gemini.js'),
    env: (url) => ({ GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: url, GEMINI_CLI_TRUST_WORKSPACE: 'true' }),
    settle(home) {
      const security = { auth: { selectedType: 'gemini-api-key' } }
      put(home, '.gemini/settings.json', { ...QUIET, security })
    },
    // Without a model's name it asks a router first.
    run: (prompt) => [
      ...['-m', 'gemini-2.5-pro', '--approval-mode', 'yolo'],
      ...['--output-format', 'json', '-p', prompt],
    ],
  },
  goose: {
    package: `@aaif/goose-binary-${PLATFORM}`,
    checked: '0.20.1',
    fixtures: ['goose'],
    program: (modules) => [join(modules, '@aaif', `goose-binary-${PLATFORM}`, 'bin', 'goose')],
    env: (url) => ({
      GOOSE_PROVIDER: 'anthropic',
      GOOSE_MODEL: 'claude-sonnet-4-5',
      GOOSE_DISABLE_KEYRING: '1',
      GOOSE_MODE: 'auto',
      ANTHROPIC_HOST: url,
      ANTHROPIC_API_KEY: KEY,
    }),
    settle() {},
    run: (prompt) => ['run', '--output-format', 'stream-json', '-t', prompt],
  },
  kilo: {
    ...opencode('kilo'),
    package: `@kilocode/cli-${PLATFORM}`,
    checked: '7.7.9',
    program: (modules) => [join(modules, '@kilocode', `cli-${PLATFORM}`, 'bin', 'kilo')],
    run: (prompt) => ['run', '--auto', '--format', 'json', prompt],
  },
  kimi: {
    package: '@moonshot-ai/kimi-code',
    checked: '2.1.0',
    fixtures: ['kimi'],
    needs: 'node',
    program: script('node', '@moonshot-ai', 'kimi-code', 'dist', 'main.mjs'),
    env: () => ({}),
    settle(home, url) {
      const provider = `[providers.mock]\ntype = "anthropic"\nbase_url = "${url}"\napi_key = "${KEY}"\n`
      const model = '[models.mock]\nprovider = "mock"\nmodel = "mock-model"\nmax_context_size = 128000\n'
      const more = 'capabilities = ["thinking", "tool_use"]\n'
      const file = '.kimi-code/config.toml'
      put(home, file, `default_model = "mock"\ntelemetry = false\n${provider}${model}${more}`)
    },
    run: (prompt) => ['--output-format', 'stream-json', '-p', prompt],
  },
  letta: {
    package: '@letta-ai/letta-code',
    checked: '0.25.9',
    fixtures: ['letta'],
    needs: 'node',
    program: script('node', '@letta-ai', 'letta-code', 'letta.js'),
    env: () => ({}),
    settle(home, url) {
      const name = 'lc-llama-cpp'
      const at = '2026-11-16T00:00:00.000Z'
      const kind = {
        provider_type: 'llama_cpp',
        provider_category: 'byok',
        auth: { type: 'api', key: 'none' },
      }
      const provider = { id: `local-provider-${name}`, name, ...kind, base_url: `${url}/v1` }
      const providers = { [name]: { ...provider, created_at: at, updated_at: at } }
      put(home, '.letta/lc-local-backend/providers/auth.json', { version: 1, providers })
    },
    run: (prompt) => [
      ...['--backend', 'local', '--model', 'llama-cpp/mock-model', '--yolo'],
      ...['--output-format', 'json', '-p', prompt],
    ],
  },
  omp: {
    package: '@oh-my-pi/pi-coding-agent',
    checked: '18.2.3',
    fixtures: ['omp'],
    needs: 'bun',
    program: script('bun', '@oh-my-pi', 'pi-coding-agent', 'dist', 'cli.js'),
    env: () => ({}),
    settle(home, url) {
      // JSON is YAML.
      const mock = { baseUrl: url, api: 'anthropic-messages', apiKey: KEY, models: [PI_MODEL] }
      put(home, '.omp/agent/models.yml', { providers: { mock } })
    },
    run: (prompt) => ['--model', 'mock/mock-model', '--auto-approve', '-p', prompt],
  },
  opencode: {
    ...opencode('opencode'),
    package: `opencode-${PLATFORM}`,
    checked: '1.18.33',
    program: (modules) => [join(modules, `opencode-${PLATFORM}`, 'bin', 'opencode')],
    run: (prompt) => ['run', '--format', 'json', prompt],
  },
  pi: {
    ...pi,
    package: '@earendil-works/pi-coding-agent',
    checked: '0.87.1',
    needs: 'node',
    program: script('node', '@earendil-works', 'pi-coding-agent', 'dist', 'cli.js'),
  },
  'pi-0.73': {
    ...pi,
    package: '@mariozechner/pi-coding-agent',
    checked: '0.73.1',
    needs: 'node',
    program: script('node', '@mariozechner', 'pi-coding-agent', 'dist', 'cli.js'),
  },
  qwen: {
    package: '@qwen-code/qwen-code',
    checked: '0.24.4',
    fixtures: ['qwen'],
    needs: 'node',
    program: script('node', '@qwen-code', 'qwen-code', 'cli-entry.js'),
    env: (url) => ({ OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: 'qwen3-coder-plus' }),
    settle(home) {
      put(home, '.qwen/settings.json', { ...QUIET, security: { auth: { selectedType: 'openai' } } })
    },
    run: (prompt) => ['--approval-mode', 'yolo', '--output-format', 'json', '-p', prompt],
  },
}
