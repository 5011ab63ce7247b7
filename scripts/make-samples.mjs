// Makes samples/ from the sessions in test/fixtures/agents: the ones a newcomer can read in a minute. Texts of the agents'
// own makers (system prompts, tool descriptions) are left out; ids get other names, so that each response counts once.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const SCENARIOS = [
  ['claude', 'tools', 'calc'],
  ['claude', 'subagent', 'inventory'],
  ['claude', 'thinking', 'calc'],
  ['codex', 'tools', 'calc'],
  ['codex', 'resume', 'notes'],
  ['grok', 'tools', 'calc', 'Fix the failing calculator test'],
  ['grok', 'subagent', 'inventory', 'Count the files'],
]
const LONGEST_TEXT = 2000
const LONGEST_LINE = 8000

/** Every text that is too long for a sample, wherever it stands. */
function shortened(value) {
  if (typeof value === 'string')
    return value.length > LONGEST_TEXT ||
      /^\s*(<system-reminder|<permissions|<available|<environment|You are .{80}|#+ .{200}|- \w+: .{200})/s.test(
        value,
      )
      ? `${value.slice(0, 60)}… (left out of this sample)`
      : value
  if (Array.isArray(value)) return value.map(shortened)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shortened(inner)]))
}

/** Records of conversations stay; long lists of what an agent could do go. */
function sampleLine(line) {
  try {
    const record = JSON.parse(line)
    if (String(record.type).startsWith('api-request')) return undefined
    const short = JSON.stringify(shortened(record))
    return short.length > LONGEST_LINE ? undefined : short
  } catch {
    return line
  }
}

const target = join(import.meta.dirname, '..', 'samples')
rmSync(target, { recursive: true, force: true })
for (const [client, scenario, project, title = ''] of SCENARIOS) {
  const scratch = mkdtempSync(join(tmpdir(), 'recollect-samples-'))
  const archive = join(import.meta.dirname, '..', 'test', 'fixtures', 'agents', `${client}.tgz`)
  execFileSync('tar', ['-xzf', archive, '-C', scratch, `${client}/${scenario}/.${client}`])
  const root = join(scratch, client, scenario)
  const rename = (text) =>
    text
      .replaceAll(/mock(?=\d{4})/g, `${scenario}${client[0]}`)
      .replaceAll('Mock Session Title From Model', title)
      .replaceAll(/(home(?:[/-]|%2F)dev(?:[/-]|%2F))proj\b/g, `$1${project}`)
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const text = readFileSync(path, 'utf8')
    const isLines = entry.name.endsWith('.jsonl')
    const body = isLines
      ? text
          .split('\n')
          .map(sampleLine)
          .filter((line) => line !== undefined)
          .join('\n')
      : text
    const to = join(target, rename(path.slice(root.length + 1)))
    mkdirSync(dirname(to), { recursive: true })
    writeFileSync(to, rename(body))
  }
  rmSync(scratch, { recursive: true })
}
