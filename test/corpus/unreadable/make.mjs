import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { CLAUDE, CODEX, CODEX_DAY, claude, codex, codexMeta, line, put } from '../records.mjs'

export function make(home) {
  put(home, CLAUDE, line(claude(1, 'first')))
  chmodSync(put(home, CODEX, line(codexMeta()) + line(codex(1, 'first'))), 0)
  mkdirSync(join(home, CODEX_DAY, '../16'))
  chmodSync(join(home, CODEX_DAY, '../16'), 0)
}

export function mend(home) {
  chmodSync(join(home, CODEX), 0o600)
  chmodSync(join(home, CODEX_DAY, '../16'), 0o700)
}

/** Root may read everything: the sweep runs as somebody else. */
export const asNobody = true
