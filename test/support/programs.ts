// Starting the programs under test/programs, and what a killed writer must have left behind.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { type Format, formats, isWhole } from '../programs/formats.mjs'
import { isHere } from '../setup/programs.ts'

export interface LoopArguments {
  format: string
  directory: string
  writer: string
  from?: number
  count?: number
  seed?: number
  flush?: 'os' | 'fdatasync'
  minBytes?: number
  stays?: boolean
  lockTimeoutMs?: number
}

export interface Ended {
  acknowledged: number[]
  code: number | null
  signal: NodeJS.Signals | null
  stderr: string
}

const APPEND_LOOP = fileURLToPath(new URL('../programs/append-loop.mjs', import.meta.url))

/** The driver of a format, by name. */
export function driver(format: string): Format {
  return formats[format] ?? expect.fail(`no such format: ${format}`)
}

/** A directory that is gone after the test. */
export function temporaryDirectory(parent = tmpdir()): string {
  const directory = mkdtempSync(join(parent, 'recollect-test-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** `test`, or a skip whose title says what is missing: programs (as Debian package names them) or `root`. */
export function testNeeding(needs: string[], title: string, body: () => Promise<void>): void {
  const missing = needs.filter((need) => (need === 'root' ? process.getuid?.() !== 0 : !isHere(need)))
  if (missing.length === 0) test(title, body)
  else test.skip(`${title} [needs ${missing.join(', ')}]`, body)
}

/** Starts the append loop, perhaps under another program such as strace. */
export function startLoop(
  args: LoopArguments,
  under: string[] = [],
): { child: ChildProcess; ended: Promise<Ended> } {
  const command = [...under, process.execPath, APPEND_LOOP, JSON.stringify(args)]
  const child = spawn(command[0] as string, command.slice(1), { stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      // A kill can cut the last line: only an ended one is an acknowledgement.
      const acknowledged = stdout.split('\n').slice(0, -1).map(Number)
      resolve({ acknowledged, code, signal, stderr })
    })
  })
  return { child, ended }
}

/** Resolves at the first acknowledgement, or when the program ended without one. */
export function firstOutput(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.stdout?.once('data', () => resolve())
    child.once('close', () => resolve())
  })
}

/** Reads a log back and proves: every record whole, none twice, each writer's in order, every acknowledged one there. */
export async function expectIntact(
  format: string,
  directory: string,
  acknowledged: Map<string, number[]>,
): Promise<{ recordCount: number; gapCount: number; last: Map<string, number> }> {
  const { records, gaps } = await driver(format).readBack(directory)
  const last = new Map<string, number>()
  const seen = new Map<string, Set<number>>()
  for (const record of records) {
    if (!isWhole(record)) expect.fail(`record ${record.writer}.${record.i} is not what was appended`)
    if (record.i <= (last.get(record.writer) ?? -1)) {
      expect.fail(`record ${record.writer}.${record.i} comes after ${last.get(record.writer)}`)
    }
    last.set(record.writer, record.i)
    if (!seen.has(record.writer)) seen.set(record.writer, new Set())
    seen.get(record.writer)?.add(record.i)
  }
  for (const [writer, numbers] of acknowledged) {
    const missing = numbers.filter((i) => !seen.get(writer)?.has(i))
    if (missing.length > 0) expect.fail(`acknowledged and lost: ${writer}.${missing.slice(0, 10).join(', ')}`)
  }
  return { recordCount: records.length, gapCount: gaps.length, last }
}
