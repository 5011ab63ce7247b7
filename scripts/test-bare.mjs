// `npm run test:bare`: the README's commands on a machine that has next to nothing: Node, git and the small programs every
// system has; no systemd, cron, browser, tmux, zsh or fish, no git identity, an empty home. In a clone of what is here, as
// root (if we are root) and as an ordinary user, who may not write where root installed and built. `--short` runs only the files
// that look at the machine, with what was built here.
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'

const PROGRAMS = `node npm npx git sh env grep sed tar gzip find xargs diff ps
  basename cat chmod chown cp cut date dd dirname echo false head id kill ln ls mkdir mkfifo mknod mktemp mv nice od
  printf pwd readlink rm rmdir sleep sort stat tail tee test touch tr true uname uniq wc`.split(/\s+/)

/** What they do depends on programs, users or the home. */
const SHORT = [
  'test/02-ending',
  'test/33-record-lineage-git',
  'test/76-hook-settings',
  'test/79-schedule',
  'test/90-package',
  'test/91-cli-start',
  'test/93-mcp-install',
  'test/94-',
  'test/95-doctor',
  'test/95-json-output',
  'test/96-init',
  'test/97-tour',
]

const isShort = process.argv.includes('--short')
const files = process.argv.slice(2).filter((word) => word !== '--short')
const root = realpathSync(join(import.meta.dirname, '..'))
const base = mkdtempSync(join(tmpdir(), 'recollect-bare-'))
const place = (name) => join(base, name)
const isBuilt = isShort && existsSync(join(root, 'dist', 'cli.cjs'))

function prepare() {
  // The other user has to get in.
  chmodSync(base, 0o755)
  for (const name of ['bin', 'home', 'tmp']) mkdirSync(place(name))
  for (const name of PROGRAMS) {
    const found = (process.env.PATH ?? '').split(delimiter).find((one) => existsSync(join(one, name)))
    const program = name === 'node' ? process.execPath : found && realpathSync(join(found, name))
    if (program) symlinkSync(program, join(place('bin'), name))
  }
  const git = (...args) => execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' })
  git('clone', '--quiet', '--no-local', root, place('clone'))
  // And what is not committed yet.
  for (const path of git('ls-files', '-z', '-m', '-o', '-d', '--exclude-standard')
    .split('\0')
    .filter(Boolean))
    if (existsSync(join(root, path))) copy(path)
    else rmSync(join(place('clone'), path), { force: true })
  copy('node_modules')
  if (isBuilt) copy('dist')
}

function copy(path) {
  mkdirSync(dirname(join(place('clone'), path)), { recursive: true })
  cpSync(join(root, path), join(place('clone'), path), { recursive: true, verbatimSymlinks: true })
}

/** What ran, what it left, or undefined if all is well. */
function run(who, owner) {
  console.log(`\n== a bare machine, as ${who}`)
  const env = {
    PATH: place('bin'),
    HOME: place('home'),
    TMPDIR: place('tmp'),
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_SYSTEM: '/dev/null',
    // Its program is not looked for on the PATH.
    RECOLLECT_TEST_CHROMIUM: place('no-browser'),
    npm_config_cache: place('npm'),
    npm_config_update_notifier: 'false',
    ...(isBuilt ? { RECOLLECT_TEST_NO_BUILD: '1' } : {}),
  }
  const chosen = files.length > 0 ? files : isShort ? SHORT : []
  const command =
    chosen.length > 0 ? ['npx', 'vitest', 'run', '--configLoader', 'runner', ...chosen] : ['npm', 'test']
  const [program, ...words] = command
  const { status } = spawnSync(program, words, { cwd: place('clone'), env, stdio: 'inherit', ...owner })
  if (status !== 0) return `${command.join(' ')} ended with ${status}`
  const left = ['home', 'tmp'].flatMap((name) => readdirSync(place(name)).map((one) => `${name}/${one}`))
  return left.length > 0 ? `left behind: ${left.join(', ')}` : undefined
}

try {
  prepare()
  const failures = []
  const failed = run(process.getuid() === 0 ? 'root' : 'an ordinary user', {})
  if (failed) failures.push(failed)
  if (process.getuid() === 0) {
    const idOf = (flag) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
    const owner = { uid: idOf('-u'), gid: idOf('-g') }
    execFileSync('chown', ['-R', `${owner.uid}:${owner.gid}`, ...readdirSync(base).map(place)])
    for (const made of isBuilt ? ['node_modules', 'dist'] : ['node_modules'])
      execFileSync('chown', ['-R', '0:0', join(place('clone'), made)])
    const failedToo = run('an ordinary user', owner)
    if (failedToo) failures.push(`as an ordinary user: ${failedToo}`)
  }
  for (const failure of failures) console.error(`\nfailed: ${failure}`)
  process.exitCode = failures.length > 0 ? 1 : 0
} finally {
  rmSync(base, { recursive: true, force: true })
}
