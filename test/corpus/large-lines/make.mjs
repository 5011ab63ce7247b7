import { around, CLAUDE, CODEX, claude, codex, codexMeta, GROK, grok, line, put } from '../records.mjs'

const text = 'wörd lor€m \\n'.repeat(Math.floor(((10 << 20) - 1000) / 16))
const large = (record) => around(record).join(`"large ${text}"`)

export function make(home) {
  put(home, CLAUDE, `${line(claude(1, 'first'))}${large(claude(2, '@@'))}\n${large(claude(4, '@@'))}\n${line(claude(5, 'fifth'))}`)
  put(home, CODEX, `${line(codexMeta())}${large(codex(1, '@@'))}\n${line(codex(2, 'second'))}`)
  put(home, GROK, `${line(grok(1, 'first'))}${large(grok(2, '@@'))}\n${line(grok(3, 'third'))}`)
}
