// Tries `recollect schedule` with the real systemd (a user manager) and the real cron, as root on Linux. Both run in a
// mount namespace of their own, with empty directories in place of the machine's: nothing of it is read or changed.
// The installed timer and crontab line are made to fire at once; a session must then be remembered without a sweep by hand.
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

const CLI = resolve(import.meta.dirname, '..', 'dist', 'cli.cjs')
const MANAGER = '/lib/systemd/systemd'
/** In place of the machine's own directories: where sockets and crontabs are, and jobs that are not ours. */
const EMPTY = ['/run', '/var/spool/cron', '/etc/cron.d']
const failures = []

function report(name, isOk, detail = '') {
  console.log(`${isOk ? 'ok  ' : 'FAIL'} ${name}${isOk || detail === '' ? '' : `\n${detail}`}`)
  if (!isOk) failures.push(name)
}

function run(command, args, env, input) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { env, input, encoding: 'utf8' })
  return { code: status ?? String(error), stdout, text: `${stdout}${stderr}` }
}

/** Spaces and the signs that units, shells and crontabs give a meaning. */
function world(base, name) {
  const home = join(base, name)
  const env = {
    HOME: home,
    RECOLLECT_HOME: join(home, `my memory %h 100% $HOME "q" 'a'`),
    PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
    XDG_RUNTIME_DIR: '/run/user/0',
  }
  const projects = join(home, '.claude', 'projects', '-w')
  mkdirSync(projects, { recursive: true })
  let count = 0
  const addSession = () => {
    const id = `${++count}1111111-1111-4111-8111-111111111111`
    const message = { role: 'user', content: 'count the apples' }
    const record = { type: 'user', uuid: `u${count}`, parentUuid: null, sessionId: id, cwd: '/w', message }
    writeFileSync(join(projects, `${id}.jsonl`), `${JSON.stringify(record)}\n`)
  }
  const cli = (...args) => run(process.execPath, [CLI, ...args], env)
  const sessionCount = () => {
    const { code, stdout } = cli('sessions', '--json')
    return code === 0 ? JSON.parse(stdout).sessions.length : 0
  }
  return { env, cli, addSession, sessionCount }
}

async function until(isTrue, seconds) {
  for (let left = seconds; left > 0; left--) {
    if (isTrue()) return true
    await pause(1000)
  }
  return false
}

async function trySystemd(base) {
  const { env, cli, addSession, sessionCount } = world(base, 'systemd')
  mkdirSync('/run/systemd/system', { recursive: true })
  mkdirSync(env.XDG_RUNTIME_DIR, { recursive: true, mode: 0o700 })
  const { HOME, PATH, XDG_RUNTIME_DIR } = env
  const manager = spawn(MANAGER, ['--user'], { env: { HOME, PATH, XDG_RUNTIME_DIR }, stdio: 'ignore' })
  const systemctl = (...args) => run('systemctl', ['--user', ...args], env)
  try {
    const isUp = await until(() => systemctl('is-system-running').stdout.trim() === 'running', 20)
    report('systemd: a user manager runs', isUp)
    if (!isUp) return
    addSession()
    const installed = cli('schedule', 'install', '--every', '15m')
    report('systemd: installs', installed.code === 0, installed.text)
    const service = systemctl('start', 'recollect-sweep.service')
    report('systemd: its service sweeps', service.code === 0 && sessionCount() === 1, service.text)
    addSession()
    const drop = join(HOME, '.config', 'systemd', 'user', 'recollect-sweep.timer.d')
    mkdirSync(drop)
    const soon = '[Timer]\nOnCalendar=\nOnCalendar=*:*:0/2\nRandomizedDelaySec=0\nAccuracySec=1s\n'
    writeFileSync(join(drop, 'soon.conf'), soon)
    systemctl('daemon-reload')
    systemctl('restart', 'recollect-sweep.timer')
    report('systemd: its timer sweeps', await until(() => sessionCount() === 2, 20), cli('status').text)
    const again = cli('schedule', 'install', '--every', '15m')
    report('systemd: a second time changes nothing', again.text.includes('nothing to do'), again.text)
    const removed = cli('schedule', 'remove')
    const isGone = !systemctl('list-timers', '--all').stdout.includes('recollect')
    report('systemd: is removed', removed.code === 0 && isGone, removed.text)
  } finally {
    manager.kill()
  }
}

async function tryCron(base) {
  const { env, cli, addSession, sessionCount } = world(base, 'cron')
  mkdirSync('/var/spool/cron/crontabs', { recursive: true })
  let daemon
  try {
    // cron takes HOME from the list of users, unless the crontab says another.
    const foreign = `# mine\nHOME=${env.HOME}\n0 0 1 1 * true\n`
    run('crontab', ['-'], env, foreign)
    addSession()
    const installed = cli('schedule', 'install', '--every', '15m')
    report('cron: installs', installed.code === 0, installed.text)
    const line = run('crontab', ['-l'], env).stdout
    run('crontab', ['-'], env, line.replace('*/15 * * * *', '* * * * *'))
    // Only now: cron does not see a crontab that changes in the second in which it was read.
    daemon = spawn('cron', ['-f'], { env, stdio: 'ignore' })
    report('cron: its line sweeps', await until(() => sessionCount() === 1, 130), line)
    run('crontab', ['-'], env, line)
    const again = cli('schedule', 'install', '--every', '15m')
    report('cron: a second time changes nothing', again.text.includes('nothing to do'), again.text)
    const removed = cli('schedule', 'remove')
    const left = run('crontab', ['-l'], env).stdout
    report('cron: is removed, other lines stay', removed.code === 0 && left === foreign, left)
  } finally {
    daemon?.kill()
  }
}

if (process.argv[2] === 'inside') {
  for (const directory of EMPTY) run('mount', ['-t', 'tmpfs', 'none', directory])
  run('mount', ['--bind', '/dev/null', '/etc/crontab'])
  const base = mkdtempSync(join(tmpdir(), 'recollect-schedulers-'))
  try {
    await tryCron(base)
    await trySystemd(base)
  } finally {
    rmSync(base, { recursive: true, force: true })
  }
  process.exitCode = failures.length > 0 ? 1 : 0
} else {
  const missing = [MANAGER, 'cron', 'unshare'].filter((name) => run('which', [name]).code !== 0)
  if (process.getuid?.() !== 0 || missing.length > 0) {
    console.error(`needs Linux, root and Debian's systemd and cron; missing: ${missing.join(', ') || 'root'}`)
    process.exit(1)
  }
  const inside = ['-m', '--propagation', 'private', process.execPath, import.meta.filename, 'inside']
  process.exitCode = spawnSync('unshare', inside, { stdio: 'inherit' }).status ?? 1
}
