// Simulated power cuts of the write side: a writer appends to a loop-mounted ext4, the file system is cut off under it at
// a random moment (test/programs/cut-disk.mjs), mounted again, and read. Every record acknowledged before the cut must be
// there with flush 'fdatasync'. With 'os' records may be lost: that run is the control which shows that the cut is one.
// Usage, as root, after `npm run build`: npm run test:power-cut [-- --cuts 20] [--format turns]
// Runs itself in a private mount namespace. The read side's: npm run test:sweep-power-cut
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { CutDisk } from '../test/programs/cut-disk.mjs'
import { formats, isWhole } from '../test/programs/formats.mjs'

const LOOP = fileURLToPath(new URL('../test/programs/append-loop.mjs', import.meta.url))
const { values } = parseArgs({
  options: { cuts: { type: 'string' }, format: { type: 'string' }, inside: { type: 'boolean' } },
})
const cuts = Number(values.cuts ?? 20)

if (process.getuid?.() !== 0) {
  console.error('power-cut: needs root (it mounts file systems)')
  process.exit(2)
}
if (!values.inside) {
  const again = ['-m', '--propagation', 'private', process.execPath, ...process.argv.slice(1), '--inside']
  process.exit(spawnSync('unshare', again, { stdio: 'inherit' }).status ?? 1)
}

const directory = mkdtempSync(join(tmpdir(), 'recollect-power-cut-'))
const disk = new CutDisk(directory)

/** Starts the writer and, at a random moment after its first acknowledgement, cuts. Gives what was acknowledged before. */
async function cutUnderWriter(format, writer, from, flush, seed) {
  const options = { format, directory: disk.path, writer, from, flush, seed }
  const child = spawn(process.execPath, [LOOP, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  await new Promise((resolve) => child.stdout.once('data', resolve))
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 400))
  // Taken before the cut: what is acknowledged while it happens proves nothing.
  const acknowledged = output.split('\n').slice(0, -1).map(Number)
  disk.cut()
  const ended = new Promise((resolve) => child.once('close', resolve))
  child.kill('SIGKILL')
  await ended
  disk.remount()
  return acknowledged
}

async function oneCut(format, flush, seed) {
  disk.make()
  // Twice on the same file system: the second writer begins with whatever tail the first cut left.
  const result = { acknowledged: 0, lost: 0, wrong: 0, gaps: 0 }
  for (const writer of ['first', 'second']) {
    const acknowledged = await cutUnderWriter(format, writer, 0, flush, seed)
    const { records, gaps } = await formats[format].readBack(disk.path)
    const found = new Set(records.filter((record) => record.writer === writer).map((record) => record.i))
    result.acknowledged += acknowledged.length
    result.lost += acknowledged.filter((i) => !found.has(i)).length
    result.wrong += records.filter((record) => !isWhole(record)).length
    result.gaps = gaps.length
  }
  const log = formats[format].open(disk.path, { flush })
  await log.append('after', 0, 1000)
  await log.close()
  const { records } = await formats[format].readBack(disk.path)
  if (!records.some((record) => record.writer === 'after')) result.lost++
  disk.unmount()
  return result
}

let failed = false
try {
  console.log('format     flush      cuts  acknowledged  lost (runs)   not whole   gaps')
  for (const format of values.format ? [values.format] : Object.keys(formats)) {
    for (const flush of ['fdatasync', 'os']) {
      const sum = { acknowledged: 0, lost: 0, wrong: 0, gaps: 0, losing: 0 }
      for (let i = 0; i < cuts; i++) {
        const result = await oneCut(format, flush, i + 1)
        for (const key of Object.keys(result)) sum[key] += result[key]
        if (result.lost > 0) sum.losing++
      }
      if (sum.wrong > 0 || (flush === 'fdatasync' && sum.lost > 0)) failed = true
      const lost = `${sum.lost} (${sum.losing})`
      console.log(
        format.padEnd(10),
        flush.padEnd(9),
        String(cuts * 2).padStart(5),
        String(sum.acknowledged).padStart(13),
        lost.padStart(12),
        String(sum.wrong).padStart(11),
        String(sum.gaps).padStart(6),
      )
    }
  }
} finally {
  disk.remove()
  rmSync(directory, { recursive: true, force: true })
}
if (failed) console.error('power-cut: FAILED: acknowledged records lost, or records that are not whole')
process.exit(failed ? 1 : 0)
