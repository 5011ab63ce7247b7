import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CLAUDE, CLAUDE_ID, CLAUDE_PROJECT, CODEX_DAY, CODEX_ID, claude, codex, codexMeta, line, put } from '../records.mjs'

export function make(home) {
  put(home, CLAUDE, line(claude(1, 'first')))
  put(home, `${CODEX_DAY}/rollout-2026-11-15T12-00-00\n\u001b[31m-${CODEX_ID}.jsonl`, line(codexMeta()) + line(codex(1, 'first')))
  const broken = (path, byte) => Buffer.concat([Buffer.from(join(home, path)), Buffer.from([0xff]), Buffer.from(byte)])
  writeFileSync(broken(`${CLAUDE_PROJECT}/bad`, '.jsonl'), line(claude(3, 'third')))
  mkdirSync(broken('.claude/projects/-bad', ''))
  writeFileSync(broken('.claude/projects/-bad', '/x.jsonl'), line(claude(5, 'fifth')))
  longPath(join(home, CLAUDE_PROJECT, CLAUDE_ID, 'subagents'))
}

/** Made step by step: the whole path is longer than what a system call takes. */
function longPath(directory) {
  const start = process.cwd()
  mkdirSync(directory, { recursive: true })
  process.chdir(directory)
  try {
    for (let depth = 0; depth < 17; depth++) {
      mkdirSync('d'.repeat(250))
      process.chdir('d'.repeat(250))
    }
  } finally {
    process.chdir(start)
  }
}
