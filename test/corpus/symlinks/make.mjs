import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { CLAUDE, CLAUDE_PROJECT, claude, line, put } from '../records.mjs'

export function make(home) {
  put(home, CLAUDE, line(claude(1, 'first')))
  const outside = put(home, 'elsewhere/22222222-2222-4222-8222-222222222222.jsonl', line(claude(1, 'outside')))
  put(home, '.claude/.credentials.json', '{"decoy":true}\n')
  const link = (target, name) => symlinkSync(target, join(home, name))
  link('loop.jsonl', `${CLAUDE_PROJECT}/loop.jsonl`)
  link('../..', `${CLAUDE_PROJECT}/round`)
  link(outside, `${CLAUDE_PROJECT}/33333333-3333-4333-8333-333333333333.jsonl`)
  link('../../.credentials.json', `${CLAUDE_PROJECT}/44444444-4444-4444-8444-444444444444.jsonl`)
  link('/nowhere', `${CLAUDE_PROJECT}/dangling`)
  link('-home-dev-proj', '.claude/projects/-home-dev-same')
  link(join(home, 'elsewhere'), '.claude/projects/-home-dev-out')
}
