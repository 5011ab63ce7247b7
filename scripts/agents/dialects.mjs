// How each client is told to do the same things: its tools' names and arguments, how a session is taken up again or forked
// without a terminal, another model, a person's refusal. What stands here is what the scenarios need beyond clients.mjs.

const first = (words) => (words_) => [...words, ...words_]
const after = (count, words) => (words_) => [...words_.slice(0, count), ...words, ...words_.slice(count)]
const replaced = (from, to) => (words) => words.map((word) => (word === from ? to : word))
const without =
  (...gone) =>
  (words) =>
    words.filter((word) => !gone.includes(word))

const call = (tool, input) => ({ tool, input })
const describe = 'Run a command'

const opencode = {
  shell: (command) => call('bash', { command, description: describe }),
  read: (filePath) => call('read', { filePath }),
  edit: (filePath, oldString, newString) => call('edit', { filePath, oldString, newString }),
  write: (filePath, content) => call('write', { filePath, content }),
  spawn: (prompt) => call('task', { description: 'Count files', prompt, subagent_type: 'general' }),
  resume: (id) => after(1, ['-s', id]),
  fork: (id) => after(1, ['-s', id, '--fork']),
  model: after(1, ['-m', 'mock/mock-small']),
  image: (path) => (words) => [...words, '-f', path],
  continue: after(1, ['-c']),
  plan: after(1, ['--agent', 'plan']),
  remove: (id) => ['session', 'delete', id],
}

const claude = {
  shell: (command) => call('Bash', { command, description: describe }),
  read: (path) => call('Read', { file_path: path }),
  edit: (path, old_string, new_string) => call('Edit', { file_path: path, old_string, new_string }),
  write: (path, content) => call('Write', { file_path: path, content }),
}

const pi = {
  shell: (command) => call('bash', { command }),
  read: (path) => call('read', { path }),
  edit: (path, oldText, newText) => call('edit', { path, edits: [{ oldText, newText }] }),
  write: (path, content) => call('write', { path, content }),
  resume: (id) => first(['--session', id]),
  fork: (id) => first(['--fork', id]),
  image: (path) => (words) => [...words, `@${path}`],
  continue: first(['--continue']),
}

export const DIALECTS = {
  claude: {
    ...claude,
    spawn: (prompt) =>
      call('Agent', {
        description: 'Count files',
        prompt,
        subagent_type: 'general-purpose',
        run_in_background: false,
      }),
    resume: (id) => first(['--resume', id]),
    fork: (id) => first(['--resume', id, '--fork-session']),
    model: first(['--model', 'claude-haiku-4-5']),
    deny: first(['--disallowedTools', 'Bash(rm:*)']),
    compact: '/compact',
    continue: first(['--continue']),
    plan: first(['--permission-mode', 'plan']),
  },
  cline: {
    shell: (command) => call('run_commands', { commands: [command] }),
    read: (path) => call('read_files', { files: [{ path }] }),
    edit: (path, old_text, new_text) => call('editor', { path, old_text, new_text }),
    write: (path, new_text) => call('editor', { path, new_text }),
    spawn: (task) => call('spawn_agent', { systemPrompt: 'You count files.', task }),
    model: replaced('claude-sonnet-4-5', 'claude-haiku-4-5'),
    deny: replaced('true', 'false'),
    plan: first(['--plan']),
    remove: (id) => ['history', 'delete', '--session-id', id],
  },
  codex: {
    shell: (cmd) => call('exec_command', { cmd }),
    read: (path) => call('exec_command', { cmd: `cat '${path}'` }),
    edit: (path, old, now) =>
      call('apply_patch', `*** Begin Patch\n*** Update File: ${path}\n@@\n-${old}\n+${now}\n*** End Patch`),
    write: (path, content) =>
      call('apply_patch', `*** Begin Patch\n*** Add File: ${path}\n+${content}\n*** End Patch`),
    resume: (id) => (words) => ['exec', 'resume', ...words.slice(1, -1), id, words.at(-1)],
    fork: (id) => (words) => ['exec', 'fork', ...words.slice(1, -1), id, words.at(-1)],
    model: (words) => [...words.slice(0, -1), '-m', 'gpt-5.4', words.at(-1)],
    image: (path) => (words) => [...words.slice(0, -1), '-i', path, '--', words.at(-1)],
    isFailureStated: false,
    continue: (words) => ['exec', 'resume', ...words.slice(1, -1), '--last', words.at(-1)],
    remove: (id) => ['delete', id],
  },
  continue: {
    shell: (command) => call('Bash', { command }),
    read: (filepath) => call('Read', { filepath }),
    edit: (file_path, old_string, new_string) => call('Edit', { file_path, old_string, new_string }),
    write: (filepath, content) => call('Write', { filepath, content }),
    resume: () => first(['--resume']),
    fork: (id) => first(['--fork', id]),
    plan: replaced('--auto', '--readonly'),
  },
  copilot: {
    shell: (command) => call('bash', { command, description: describe, mode: 'sync', initial_wait: 30 }),
    read: (path) => call('view', { path }),
    edit: (path, old_str, new_str) => call('edit', { path, old_str, new_str }),
    write: (path, file_text) => call('create', { path, file_text }),
    spawn: (prompt) =>
      call('task', {
        ...{ description: 'Count files', prompt, agent_type: 'general-purpose' },
        ...{ name: 'count-files', mode: 'sync' },
      }),
    resume: (id) => first([`--resume=${id}`]),
    model: first(['--model', 'claude-haiku-4.5']),
    deny: first(['--deny-tool', 'shell(rm)']),
    continue: first(['--continue']),
    plan: first(['--plan']),
  },
  droid: {
    shell: (command) =>
      call('Execute', {
        ...{ summary: describe, command, riskLevelReason: 'Harmless in a sandbox' },
        ...{ riskLevel: 'low', timeout: 90 },
      }),
    read: (file_path) => call('Read', { file_path }),
    edit: (file_path, old_str, new_str) => call('Edit', { file_path, old_str, new_str }),
    write: (file_path, content) => call('Create', { file_path, content }),
    spawn: (prompt) =>
      call('Task', { subagent_type: 'worker', description: 'Count files', prompt, await: true }),
    resume: (id) => after(1, ['-s', id]),
    fork: (id) => after(1, ['--fork', id]),
    deny: without('--auto', 'high'),
    plan: after(1, ['--use-spec']),
  },
  gemini: {
    shell: (command) => call('run_shell_command', { command, description: describe }),
    read: (file_path) => call('read_file', { file_path }),
    edit: (file_path, old_string, new_string) =>
      call('replace', { file_path, instruction: 'Fix the bug', old_string, new_string }),
    write: (file_path, content) => call('write_file', { file_path, content }),
    spawn: (prompt) => call('invoke_agent', { agent_name: 'generalist', prompt }),
    finish: (response) => call('complete_task', { result: { response } }),
    resume: (id) => first(['--resume', id]),
    model: replaced('gemini-2.5-pro', 'gemini-2.5-flash'),
    compact: '/compress',
    continue: first(['--resume', 'latest']),
    plan: replaced('yolo', 'plan'),
    remove: () => ['--delete-session', '1'],
    full: 950_000,
    mention: true,
  },
  goose: {
    shell: (command) => call('shell', { command }),
    edit: (path, before, after) => call('edit', { path, before, after }),
    write: (path, content) => call('write', { path, content }),
    read: (path) => call('shell', { command: `cat '${path}'` }),
    spawn: (instructions) => call('delegate', { instructions }),
    resume: (id) => after(1, ['-r', '--session-id', id]),
    continue: after(1, ['-r']),
  },
  grok: {
    shell: (command) => call('run_terminal_command', { command, description: describe }),
    read: (target_file) => call('read_file', { target_file }),
    edit: (file_path, old_string, new_string) =>
      call('search_replace', { file_path, old_string, new_string }),
    write: (file_path, content) => call('write', { file_path, content }),
    spawn: (prompt) => call('spawn_subagent', { prompt, description: 'Count files', background: false }),
    resume: (id) => first(['--resume', id]),
    fork: (id) => first(['--resume', id, '--fork-session']),
    compact: '/compact',
    continue: first(['--continue']),
    plan: first(['--permission-mode', 'plan']),
  },
  kilo: opencode,
  kimi: {
    shell: (command) => call('Bash', { command }),
    read: (path) => call('Read', { path }),
    edit: (path, old_string, new_string) => call('Edit', { path, old_string, new_string }),
    write: (path, content) => call('Write', { path, content }),
    spawn: (prompt) => call('Agent', { description: 'Count files', prompt }),
    resume: (id) => first(['-S', id]),
    copy: (id) => ['fork', id, '--yes'],
    continue: first(['--continue']),
  },
  letta: {
    ...claude,
    spawn: (prompt) =>
      call('Agent', { description: 'Count files', prompt, subagent_type: 'general-purpose' }),
    resume: (id) => first(['--conversation', id.replace(/@.*/, '')]),
  },
  omp: {
    shell: (command) => call('_bash', { i: describe, command }),
    read: (path) => call('_read', { i: 'Read file', path }),
    edit: (path, _old, now) => call('_edit', { i: 'Fix', input: `[${path}#0000]\nPUT 1.=1:\n+${now}\n` }),
    write: (path, content) => call('_write', { i: 'Write', path, content }),
    spawn: (task) =>
      call('_task', { i: 'Delegate', context: 'Count files', tasks: [{ task, name: 'Counter' }] }),
    finish: (answer) => call('_yield', { data: { answer } }),
    resume: (id) => first(['--resume', id]),
    image: pi.image,
    continue: first(['--continue']),
  },
  opencode,
  pi,
  'pi-0.73': pi,
  qwen: {
    shell: (command) => call('run_shell_command', { command, is_background: false, description: describe }),
    read: (file_path) => call('read_file', { file_path }),
    edit: (file_path, old_string, new_string) => call('edit', { file_path, old_string, new_string }),
    write: (file_path, content) => call('write_file', { file_path, content }),
    spawn: (prompt) =>
      call('agent', { description: 'Count files', prompt, subagent_type: 'general-purpose' }),
    resume: (id) => first(['--resume', id]),
    fork: (id) => first(['--resume', id, '--fork-session']),
    model: first(['-m', 'qwen3-max']),
    compact: '/compress',
    continue: first(['--continue']),
    plan: replaced('yolo', 'plan'),
    full: 950_000,
    mention: true,
  },
}
