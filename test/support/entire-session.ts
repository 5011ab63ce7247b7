// What the tests of the Entire transcript share: a project directory that is removed again, and two ways to read.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import {
  type EntireLine,
  type EntireReadOptions,
  EntireTranscript,
  type EntireTranscriptOptions,
  type JsonlGap,
  readEntireTranscript,
} from '../../src/record/index.ts'

export const project = { cwd: '' }

export function useProject(): void {
  beforeEach(() => {
    project.cwd = mkdtempSync(join(tmpdir(), 'recollect-entire-'))
  })
  afterEach(() => rmSync(project.cwd, { recursive: true, force: true }))
}

export function open(options: Partial<EntireTranscriptOptions> = {}): EntireTranscript {
  return new EntireTranscript({ cwd: project.cwd, version: '0.0.44', flush: 'os', ...options })
}

/** The lines as they stand in the file; throws unless every one is JSON and ended. */
export function rawLines(path: string): Record<string, unknown>[] {
  const parts = readFileSync(path, 'utf8').split('\n')
  if (parts.pop() !== '') throw new Error('the last line has no newline')
  return parts.map((line) => JSON.parse(line))
}

export async function read(
  path: string,
  gaps: JsonlGap[] = [],
  options: EntireReadOptions = {},
): Promise<EntireLine[]> {
  const lines: EntireLine[] = []
  const onGap = (gap: JsonlGap): unknown => gaps.push(gap)
  for await (const line of readEntireTranscript(path, { onGap, ...options })) lines.push(line)
  return lines
}

/** What jq makes of every line, or undefined where jq is not installed. */
export function jqTypes(path: string): string[] | undefined {
  const { status, stdout } = spawnSync('/usr/bin/env', ['jq', '-r', '.type', path], { encoding: 'utf8' })
  return status === 127 ? undefined : stdout.split('\n').filter(Boolean)
}

export const USAGE = {
  input_tokens: 1200,
  output_tokens: 350,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 800,
}
export const TOOL_USE = {
  type: 'tool_use',
  id: 'toolu_01X',
  name: 'read_file',
  input: { path: 'src/main.rs', limit: 5 },
}
export const TOOL_RESULT = {
  type: 'tool_result',
  tool_use_id: 'toolu_01X',
  content: '1: use std::io;\n2: ...',
}

export async function conversation(transcript: EntireTranscript): Promise<void> {
  await transcript.user('explain main.rs')
  await transcript.assistant([{ type: 'text', text: 'Let me read that file.' }, TOOL_USE], {
    usage: USAGE,
    id: 'msg_1',
    model: 'claude-x',
    stopReason: 'tool_use',
  })
  await transcript.user([TOOL_RESULT])
  await transcript.assistant('It prints.', { usage: { ...USAGE, output_tokens: 7 } })
}
