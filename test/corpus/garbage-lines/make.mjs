import { CLAUDE, CODEX, claude, codex, codexMeta, line, put } from '../records.mjs'

export function make(home) {
  put(home, CLAUDE, `${line(claude(1, 'first'))}${'x\n'.repeat(1_000_000)}${line(claude(2, 'second'))}`)
  put(home, CODEX, `${line(codexMeta())}${'{}\n'.repeat(20_000)}${Array.from({ length: 5_000 }, (_, n) => `{"type":"t${n}","payload":{}}\n`).join('')}${line(codex(1, 'first'))}`)
}
