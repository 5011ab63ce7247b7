// What users get: the packed tarball, installed with production dependencies only, imported and run.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const scratch = mkdtempSync(join(tmpdir(), 'recollect-package-'))
const project = join(scratch, 'user')
const run = (command: string, args: string[], input = ''): string =>
  execFileSync(command, args, { cwd: project, input, encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'] })

beforeAll(() => {
  execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', scratch], { stdio: 'pipe' })
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), '{"private":true,"type":"module"}')
  const tarball = readdirSync(scratch).find((name) => name.endsWith('.tgz')) as string
  run('npm', [
    'install',
    '--omit=dev',
    '--ignore-scripts',
    '--prefer-offline',
    '--no-audit',
    join(scratch, tarball),
  ])
}, 300_000)
afterAll(() => rmSync(scratch, { recursive: true }))

describe('the package', () => {
  it('has no publint findings', async () => {
    const { messages, pkg } = await publint({ pkgDir: process.cwd(), strict: true })
    expect(messages.map((message) => formatMessage(message, pkg as Record<string, unknown>))).toEqual([])
  })

  it('is imported and writes a transcript without development dependencies', () => {
    writeFileSync(
      join(project, 'use.mjs'),
      `import { TranscriptWriter } from 'recollect/record'
       import * as root from 'recollect'
       const writer = new TranscriptWriter('memory')
       await writer.append('a', 's', { turnId: '1', role: 'user', content: 'hi', ts: 1 })
       console.log(JSON.stringify(await writer.read('a', 's')), root.TranscriptWriter === TranscriptWriter)`,
    )
    expect(run('node', ['use.mjs'])).toBe('[{"turnId":"1","role":"user","content":"hi","ts":1}] true\n')
  })

  it('gives each adapter by its own name, without a database', () => {
    writeFileSync(
      join(project, 'adapter.mjs'),
      `import { turns } from 'recollect/adapters/turns'
       import { claude } from 'recollect/adapters/claude'
       const source = turns.claim(process.argv[2])
       const kinds = [...turns.read(source, null)].filter((item) => item.type === 'event').map((item) => item.kind)
       console.log(claude.flavor, kinds.join())`,
    )
    const path = readdirSync(join(project, 'memory'), { recursive: true, encoding: 'utf8' }).find((name) =>
      name.endsWith('.jsonl'),
    ) as string
    expect(run('node', ['adapter.mjs', join(project, 'memory', path)])).toBe('claude user_msg\n')
  })

  it.each([
    // Checking the declarations themselves takes most of the time: once is enough.
    ['nodenext, declarations checked too', 'nodenext', 'nodenext', 'false'],
    ['bundler', 'bundler', 'esnext', 'true'],
  ])('has types for a strict program (%s)', (_, resolution, module, skipLibCheck) => {
    writeFileSync(
      join(project, 'use.ts'),
      `import { ADAPTERS, Config, getDigest, listSessions, openMemory, storePaths, sweep } from 'recollect'
       import { turns } from 'recollect/adapters/turns'
       import { accumulateMessage, EntireTranscript, type ErrorCode, type JsonlGap, loadRun, RecollectError } from 'recollect/record'
       import { RunTranscript, SessionHistory, TranscriptEntry, TranscriptWriter } from 'recollect/record'
       const writer = new TranscriptWriter('memory', { flush: 'fdatasync', lockTimeoutMs: 30_000 })
       const entry: TranscriptEntry = { turnId: '1', role: 'tool', toolResults: [{ callId: 'c' }], ts: Date.now() }
       await writer.append('main', 's', TranscriptEntry.parse(entry))
       const onGap = (gap: JsonlGap): void => console.error(gap.offset)
       for await (const turn of writer.readStream('main', 's', { onGap })) console.log(turn.content?.length)
       const transcript = new EntireTranscript({ cwd: process.cwd(), version: '1', model: 'm' })
       const { body } = await fetch('http://127.0.0.1')
       const message = await accumulateMessage(body ?? [])
       await transcript.assistant(message.content, message)
       const run = await RunTranscript.start('base', { runId: { flow: 'f', identifier: 'i' } })
       const id: number = (await run.addTurn('user', 'a', 1)).id
       console.log(id, (await new SessionHistory('dir').saveSessionId('a'))?.event)
       try {
         await loadRun('base', run.runId)
       } catch (error) {
         const code: ErrorCode | undefined = error instanceof RecollectError ? error.code : undefined
         console.log(code === 'NOT_FOUND')
       }
       // @ts-expect-error no such role
       await run.addTurn('critic', 'a')
       const env = { HOME: '/nowhere' }
       const config = new Config({ env })
       await sweep({ config, env, adapters: ADAPTERS })
       const memory = openMemory(storePaths(config.home, config.get('store.db_path')))
       for (const { session_uid } of listSessions(memory)) console.log(getDigest(memory, session_uid)?.outcome)
       console.log(turns.flavor)`,
    )
    const options = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess']
    const types = ['--typeRoots', join(process.cwd(), 'node_modules/@types'), '--types', 'node']
    const target = [
      '--target',
      'es2022',
      // Without a page's: what a browser has is declared in a quarter of all lines, and checked with the rest.
      '--lib',
      'es2022',
      '--module',
      module,
      '--moduleResolution',
      resolution,
      '--skipLibCheck',
      skipLibCheck,
    ]
    const tsc = join(process.cwd(), 'node_modules/typescript/bin/tsc')
    expect(run(process.execPath, [tsc, ...options, ...types, ...target, 'use.ts'])).toBe('')
  })

  it('runs as a command', () => {
    const line = '{"turnId":"2","role":"user","ts":2}\n'
    const args = ['recollect', 'record', 'turns', '--base', 'memory', '--agent', 'a', '--session', 't']
    expect(JSON.parse(run('npx', ['--no-install', ...args], line))).toMatchObject({
      ok: true,
      line: 1,
      turnId: '2',
    })
  })

  it('brings no file that only developers need', () => {
    const files = readdirSync(join(project, 'node_modules/recollect'))
    expect(files.sort()).toEqual([
      '.claude-plugin',
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'dist',
      'docs',
      'man',
      'package.json',
      'plugin',
      'samples',
    ])
  })
})
