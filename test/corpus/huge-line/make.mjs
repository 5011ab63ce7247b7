import { closeSync, openSync, writeSync } from 'node:fs'
import { around, CLAUDE, CODEX, claude, codex, codexMeta, line, put } from '../records.mjs'

const GIGABYTE = 1 << 30

export function make(home) {
  const [before, after] = around(claude(2, '@@'))
  const fd = openSync(put(home, CLAUDE, line(claude(1, 'first'))), 'a')
  writeSync(fd, `${before}"`)
  const block = Buffer.alloc(1 << 22, 'a gigabyte of words ')
  for (let done = 0; done < GIGABYTE; done += block.length) writeSync(fd, block)
  writeSync(fd, `"${after}\n${line(claude(3, 'third'))}`)
  closeSync(fd)
  // Larger than what is read of one line, and unfinished.
  put(home, CODEX, line(codexMeta()) + line(codex(1, 'first')) + JSON.stringify(codex(2, 'x'.repeat(17 << 20))).slice(0, -5))
}

export function mend(home) {
  const fd = openSync(`${home}/${CODEX}`, 'a')
  writeSync(fd, `\n${line(codex(3, 'third'))}`)
  closeSync(fd)
}
