import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { CLAUDE, CLAUDE_ID, CLAUDE_PROJECT, CODEX_DAY, claude, GROK, GROK_SESSION, grok, line, put } from '../records.mjs'

const run = (command, ...args) => execFileSync(command, args, { stdio: 'pipe' })

export async function make(home) {
  const inside = (path) => {
    mkdirSync(dirname(join(home, path)), { recursive: true })
    return join(home, path)
  }
  put(home, CLAUDE, line(claude(1, 'first')) + line(claude(2, 'second')))
  mkdirSync(inside(`${CLAUDE_PROJECT}/directory.jsonl/x`), { recursive: true })
  run('mkfifo', inside(`${CLAUDE_PROJECT}/pipe.jsonl`))
  run('mkfifo', inside(`${CODEX_DAY}/rollout-2026-11-15T12-00-01-pipe.jsonl`))
  // A sub-agent whose sidecar is a pipe.
  put(home, `${CLAUDE_PROJECT}/${CLAUDE_ID}/subagents/agent-a1.jsonl`, line(claude(3, 'told', { isSidechain: true, agentId: 'a1', parentUuid: null })))
  run('mkfifo', inside(`${CLAUDE_PROJECT}/${CLAUDE_ID}/subagents/agent-a1.meta.json`))
  put(home, GROK, line(grok(1, 'first')) + line(grok(2, 'second')))
  run('mkfifo', inside(`${GROK_SESSION}/summary.json`))
  run('mkfifo', inside(`${GROK_SESSION}/events.jsonl`))
  run('mkfifo', inside(`${dirname(GROK_SESSION)}/prompt_history.jsonl`))
  run('mkfifo', inside('.codex/archived_sessions'))
  await socketAt(inside(`${CLAUDE_PROJECT}/socket.jsonl`))
  if (process.getuid?.() === 0) run('mknod', inside(`${CLAUDE_PROJECT}/zero.jsonl`), 'c', '1', '5')
}

/** A socket whose server has died: the name stays when the process is killed. Made where it lies: a whole path may be too long for one. */
async function socketAt(path) {
  const program = `require('net').createServer().listen(${JSON.stringify(basename(path))}, () => process.kill(process.pid, 'SIGKILL'))`
  try {
    execFileSync(process.execPath, ['-e', program], { cwd: dirname(path), stdio: 'pipe' })
  } catch {
    // Killed, as it should be.
  }
}
