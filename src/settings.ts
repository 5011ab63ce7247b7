// The table of settings: key, type, where it can be set, default, meaning. Reading and checking is config.ts.

export interface SettingTypes {
  text: string
  path: string
  url: string
  bytes: number
  duration: number
  count: number
  usd: number
  patterns: string[]
  names: Record<string, string>
  lists: Record<string, string[]>
  map: Record<string, unknown>
  roots: Record<string, { roots: string[] }>
  paths: string[]
}

export interface SettingRow {
  key: string
  type: keyof SettingTypes
  env?: string
  flag?: string
  choices?: readonly string[]
  default: string | number | readonly string[] | Record<string, unknown>
  doc: string
}

/** Every setting there is. */
export const SETTINGS = [
  {
    key: 'record.flush',
    type: 'text',
    env: 'RECOLLECT_RECORD_FLUSH',
    flag: '--flush <policy>',
    choices: ['os', 'fdatasync'],
    default: 'fdatasync',
    doc: 'What an acknowledged append survives: `os` a kill of the process, `fdatasync` also a crash of the machine.',
  },
  {
    key: 'record.lock_timeout',
    type: 'duration',
    env: 'RECOLLECT_RECORD_LOCK_TIMEOUT',
    flag: '--lock-timeout <duration>',
    default: '30s',
    doc: 'How long an append waits while another process holds the lock of the file.',
  },
  {
    key: 'record.max_line',
    type: 'bytes',
    env: 'RECOLLECT_RECORD_MAX_LINE',
    flag: '--max-line <size>',
    default: '256MiB',
    doc: 'A longer input line of `recollect record` is refused.',
  },
  {
    key: 'ui.editor',
    type: 'text',
    env: 'RECOLLECT_UI_EDITOR',
    default: 'vscode://file{path}:{line}',
    doc: 'The address by which the page opens a file in your editor; `{path}` and `{line}` are filled in. Empty: no such links.',
  },
  {
    key: 'capture.interval',
    type: 'duration',
    env: 'RECOLLECT_CAPTURE_INTERVAL',
    default: '10s',
    doc: 'Sweeps set off by hooks, or by `recollect watch`, begin at least this long after one another.',
  },
  {
    key: 'store.db_path',
    type: 'path',
    env: 'HELIX_STORE_DB',
    default: '',
    doc: 'The durable memory (SQLite). Empty: `memory.db` in the home directory.',
  },
  {
    key: 'identity.host',
    type: 'text',
    default: '',
    doc: 'What this machine is called. Empty: its host name, which stays here: a team server then learns `host-` and the beginning of a random id.',
  },
  {
    key: 'identity.user',
    type: 'text',
    default: '',
    doc: 'Whose sessions these are. Empty: a random pseudonym; give the same name on each of your machines to be counted as one person.',
  },
  {
    key: 'sources',
    type: 'roots',
    default: {},
    doc: 'More directories to look in, by flavor: `[sources.<flavor>] roots = ["…"]`.',
  },
  {
    key: 'sources.plugins',
    type: 'paths',
    default: [],
    doc: 'Modules that declare agents nobody here knows ([how](adding-an-agent.md)): they run with all rights of this program. Relative to this file.',
  },
  {
    key: 'domains',
    type: 'names',
    default: {},
    doc: 'Repository name, or absolute path of a repository, to the domain it belongs to.',
  },
  {
    key: 'prices',
    type: 'map',
    default: {},
    doc: 'Your own prices, in USD per million tokens: `[prices."<model>"]` with `input`, `output`, `cache_read`, `cache_write_5m`, `cache_write_1h`, `since`. See docs/usage.md.',
  },
  {
    key: 'price_aliases',
    type: 'map',
    default: {},
    doc: 'Name of a model as logs have it to the name it is priced under.',
  },
  {
    key: 'task_ref.patterns',
    type: 'patterns',
    default: [],
    doc: 'Regular expressions that find a task reference in the branch, the directory or a prompt, such as the prefixes of your tracker (`\\\\bSHOP-\\\\d+`); the first group counts. Without a match: a ticket or number in the branch or directory, the address of a tracker, or a number beside a word such as issue or PR.',
  },
  {
    key: 'digest.buckets',
    type: 'lists',
    default: { infra: ['mcp*', '*mcp_resource*', '*mcpresource*', 'tool*search'] },
    doc: 'Buckets of tool names (`*` matches anything) whose share of the calls a digest tells; `infra` is `infra_overhead_share`.',
  },
  {
    key: 'hub.digests_dir',
    type: 'path',
    default: '',
    doc: 'A directory in which each digest and each decision also stands as a JSON file. Empty: none. See docs/hub.md.',
  },
  {
    key: 'hub.url',
    type: 'url',
    default: '',
    doc: 'Events such as `session_memory.data_loss` are posted here as JSON. Empty: nowhere.',
  },
  {
    key: 'hub.token_env',
    type: 'text',
    default: '',
    doc: 'Name of the environment variable that holds the token sent to the hub (`Authorization: Bearer …`). The token itself is never in a file or printed. Empty: none.',
  },
  {
    key: 'hub.timeout',
    type: 'duration',
    default: '5s',
    doc: 'How long the hub may take to answer; a sweep waits at most twice as long for it.',
  },
  {
    key: 'otlp.endpoint',
    type: 'url',
    default: '',
    doc: 'A collector of OpenTelemetry (OTLP over HTTP, such as `http://localhost:4318`) to which each new or grown session is sent after a sweep, those that are remembered already as well. Empty: none. See docs/export.md.',
  },
  {
    key: 'otlp.text',
    type: 'text',
    choices: ['off', 'on'],
    default: 'off',
    doc: 'Whether prompts, answers, and what calls were given and gave, are sent along.',
  },
  {
    key: 'recall.hook',
    type: 'text',
    choices: ['off', 'on'],
    default: 'off',
    doc: 'Whether an agent whose call failed is offered what mended the same failure before, by a hook; `recollect hooks install` puts it in. See docs/capture.md.',
  },
  {
    key: 'budget.daily',
    type: 'usd',
    default: 0,
    doc: 'What all sessions of a day may cost in US dollars, at list prices. 0: no limit.',
  },
  {
    key: 'budget.session',
    type: 'usd',
    default: 0,
    doc: 'What one session may cost with its sub-agents. 0: no limit.',
  },
  {
    key: 'budget.action',
    type: 'text',
    choices: ['warn', 'stop'],
    default: 'warn',
    doc: 'What a hook does when a budget is spent: say so, or stop the agent as well. `recollect hooks install` puts it in. Whatever goes wrong in it, the agent goes on.',
  },
  {
    key: 'push.url',
    type: 'url',
    env: 'RECOLLECT_PUSH_URL',
    default: '',
    doc: 'A team server (`recollect serve`) that sweeps push sessions to. Empty: none. See docs/fleet.md.',
  },
  {
    key: 'push.level',
    type: 'text',
    env: 'RECOLLECT_PUSH_LEVEL',
    flag: '--level <level>',
    choices: ['ledger', 'digest', 'full'],
    default: 'ledger',
    doc: 'What leaves this machine: `ledger` figures and names of repositories and models, no text; `digest` also redacted digests; `full` also redacted events. Lowered, what is above it goes from the server.',
  },
  {
    key: 'push.token_env',
    type: 'text',
    default: 'RECOLLECT_PUSH_TOKEN',
    doc: 'Name of the environment variable that holds the token of this machine.',
  },
  {
    key: 'push.timeout',
    type: 'duration',
    default: '10s',
    doc: 'How long a sweep waits for the team server; what is not sent by then waits for the next one.',
  },
  {
    key: 'server.url',
    type: 'url',
    env: 'RECOLLECT_SERVER_URL',
    default: '',
    doc: 'The team server that `--server team` means. Empty: the one of `push.url`. See docs/fleet.md.',
  },
  {
    key: 'server.token_env',
    type: 'text',
    default: 'RECOLLECT_SERVER_TOKEN',
    doc: 'Name of the environment variable that holds who asks a team server: a token (`rct_…`) of a person, or `name:password`.',
  },
  {
    key: 'server.timeout',
    type: 'duration',
    default: '60s',
    doc: 'How long a team server may take to answer a question.',
  },
  {
    key: 'serve.blobs',
    type: 'text',
    env: 'RECOLLECT_SERVE_BLOBS',
    default: '',
    doc: 'Where a team server keeps segments: `dir:/…`, or `s3://bucket/prefix` with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL_S3 in the environment. Empty: `blobs` in the home directory.',
  },
  {
    key: 'serve.people',
    type: 'path',
    env: 'RECOLLECT_SERVE_PEOPLE',
    default: '',
    doc: 'A file of people with passwords, a line each as `recollect serve person` prints it. Empty: people have tokens only.',
  },
  {
    key: 'serve.url',
    type: 'url',
    env: 'RECOLLECT_SERVE_URL',
    default: '',
    doc: 'The address that people reach a team server by, as its proxy has it. Needed for `serve.oidc`.',
  },
  {
    key: 'serve.oidc.issuer',
    type: 'url',
    default: '',
    doc: 'The OpenID provider that people sign in with on the pages of a team server. Empty: none. See docs/fleet.md.',
  },
  {
    key: 'serve.oidc.client_id',
    type: 'text',
    default: '',
    doc: 'What the provider knows the server as; its redirect address is `serve.url` with `/login/callback`.',
  },
  {
    key: 'serve.oidc.secret_env',
    type: 'text',
    default: 'RECOLLECT_OIDC_SECRET',
    doc: 'Name of the environment variable that holds the secret the provider gave the server.',
  },
  {
    key: 'serve.oidc.scope',
    type: 'text',
    default: 'openid email profile',
    doc: 'What the provider is asked for.',
  },
  {
    key: 'serve.oidc.person',
    type: 'text',
    default: 'email',
    doc: 'The claim that names the person, as tokens of their machines do (`serve token create --person`). An e-mail address has to be verified.',
  },
  {
    key: 'serve.oidc.claim',
    type: 'text',
    default: 'groups',
    doc: 'The claim whose values `serve.oidc.roles` maps: a text, or a list of texts.',
  },
  {
    key: 'serve.oidc.roles',
    type: 'names',
    default: {},
    doc: 'A value of the claim to `team:role`, such as `"shop-leads" = "shop:lead"`. The first line that fits counts; who has none is refused.',
  },
  {
    key: 'session_memory.retention.raw_soft_cap_bytes',
    type: 'bytes',
    default: '4GiB',
    doc: 'Above this, raw sessions that were analyzed are evicted, the one analyzed longest ago first.',
  },
  {
    key: 'session_memory.retention.raw_hard_cap_bytes',
    type: 'bytes',
    default: '6GiB',
    doc: 'Ceiling of the raw cache. Above it, if analysis cannot help, the oldest raw is dropped un-analyzed, and reported.',
  },
  {
    key: 'session_memory.retention.raw_max_age_days',
    type: 'count',
    default: 45,
    doc: 'Analyzed raw of a session whose last event is older than this goes whatever the space, unless it came in within the last 7 days.',
  },
  {
    key: 'session_memory.retention.sole_copies',
    type: 'text',
    choices: ['keep', 'age'],
    default: 'keep',
    doc: "A session whose agent's own file is gone: `keep` lets it go only for room, and when nothing else is left; `age` also by `raw_max_age_days`.",
  },
  {
    key: 'session_memory.retention.distilled_cap_bytes',
    type: 'bytes',
    default: '1GiB',
    doc: 'Above this the durable memory is reported for review; nothing of it is ever dropped by itself.',
  },
  {
    key: 'session_memory.retention.cadence',
    type: 'text',
    choices: ['daily', 'weekly', 'on-hook'],
    default: 'daily',
    doc: 'How often the scheduled sweep runs and, with it, eviction. Sweeps set off by a hook evict each time only with `on-hook`.',
  },
] as const satisfies readonly SettingRow[]
