// Installing clients, and running programs to their end.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CLIENTS } from './clients.mjs'

export const cache = process.env.RECOLLECT_TEST_AGENTS ?? join(tmpdir(), 'recollect-agents')
const PLATFORM = `${process.platform}-${process.arch}`

/** What runs a client that is a script. */
const RUNTIMES = {
  node: { package: `node-${PLATFORM}@22`, path: [`node-${PLATFORM}`, 'bin', 'node'] },
  bun: { package: `@oven/bun-${PLATFORM}`, path: ['@oven', `bun-${PLATFORM}`, 'bin', 'bun'] },
}

export const modulesOf = (name, version) => join(cache, `${name}@${version}`, 'node_modules')

export const programs = Object.fromEntries(
  Object.entries(RUNTIMES).map(([name, { path }]) => [name, join(modulesOf('runtime', name), ...path)]),
)

/**
 * The packages of each client, once per version, each in a directory of its own. Install scripts would write to the home of
 * whoever runs this. Tells why where there is none.
 */
export function install(name, version) {
  const client = CLIENTS[name]
  const runtime = RUNTIMES[client.needs]
  if (runtime) {
    const why = installed(join(cache, `runtime@${client.needs}`), runtime.package)
    if (why) return why
  }
  return installed(join(cache, `${name}@${version}`), `${client.package}@${version}`)
}

function installed(directory, spec) {
  const done = join(directory, 'installed')
  if (existsSync(done) && readFileSync(done, 'utf8') === spec) return undefined
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, 'package.json'), '{"private":true}')
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--loglevel=error']
  const { status, stderr } = spawnSync('npm', ['install', ...flags, spec], {
    cwd: directory,
    encoding: 'utf8',
  })
  if (status === 0) writeFileSync(done, spec)
  // Without the address of the registry.
  else
    return (
      stderr
        .replace(/https?:\S+/g, '…')
        .split('\n')
        .filter((line) => /npm error/.test(line))[1] ?? 'npm failed'
    )
  return undefined
}

const TRIED = 5

/** The versions that npm offers, the newest first, and at the end the one that was checked: not every release can be installed. */
export function versionsOf(name) {
  const { package: spec, checked } = CLIENTS[name]
  const view = (field) => {
    const { status, stdout } = spawnSync('npm', ['view', spec, field, '--json'], { encoding: 'utf8' })
    return status === 0 ? JSON.parse(stdout) : undefined
  }
  const latest = view('version')
  const stable = (view('versions') ?? []).filter((version) => !version.includes('-'))
  const upTo = stable.slice(stable.indexOf(checked) + 1, stable.indexOf(latest) + 1)
  return [...upTo.reverse().slice(0, TRIED), checked]
}

/** Runs to its end; the model answers meanwhile, so nothing here may block. */
export async function run(program, words, env, cwd, seconds = 120) {
  const child = spawn(program, words, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  let [stdout, stderr] = ['', '']
  // Not by chunks: one may end within a character.
  child.stdout.setEncoding('utf8')
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), seconds * 1000)
  const code = await new Promise((done) => {
    child.once('error', (error) => done(error.code))
    child.once('close', (code, signal) => done(code ?? signal))
  })
  clearTimeout(timer)
  return { code, stdout, stderr }
}

const SHIM = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static long back(void) { const char *text = getenv("CLOCK_BACK"); return text ? atol(text) : 0; }
int clock_gettime(clockid_t id, struct timespec *at) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int status = real(id, at);
  if (status == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) at->tv_sec -= back();
  return status;
}
int gettimeofday(struct timeval *at, void *zone) {
  struct timespec now;
  int status = clock_gettime(CLOCK_REALTIME, &now);
  if (at) { at->tv_sec = now.tv_sec; at->tv_usec = now.tv_nsec / 1000; }
  return status;
}
time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
`

/** The environment of a program whose clock is some seconds behind. Programs without the C library see the right time. */
export function clockShim(seconds) {
  const [source, library] = ['clock.c', 'clock.so'].map((name) => join(cache, name))
  if (!existsSync(library)) {
    writeFileSync(source, SHIM)
    const { status } = spawnSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl'])
    if (status !== 0) throw new Error('no C compiler: the clock cannot be set back')
  }
  return { LD_PRELOAD: library, CLOCK_BACK: String(seconds) }
}
