import { around, CLAUDE, CODEX, claude, codex, codexMeta, line, put } from '../records.mjs'

const many = (record, unit) => around(record).join(`[${unit.repeat((15 << 20) / unit.length)}1]`)

export function make(home) {
  put(home, CLAUDE, `${line(claude(1, 'first'))}${many(claude(3, '@@'), '[],')}\n${many(claude(5, '@@'), '{"a":{}},')}\n${line(claude(7, 'seventh'))}`)
  put(home, CODEX, `${line(codexMeta())}${many(codex(1, '@@'), '"",')}\n${line(codex(2, 'second'))}`)
  // As many as are taken.
  put(home, '.claude/projects/-home-dev-proj/22222222-2222-4222-8222-222222222222.jsonl',
    `${around(claude(1, '@@')).join(`[${'{},'.repeat(49_000)}1]`)}\n${line(claude(2, 'second'))}`)
}
