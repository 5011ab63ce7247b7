// A real sshd on a loopback port, with keys and a home directory of its own. Run as whoever runs the tests; the account that
// is logged in to is the same one, but sees another HOME.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { freePort } from './postgres.ts'
import { isHere } from './programs.ts'
import { temporary } from './temporary.ts'

const SSHD = '/usr/sbin/sshd'

export const HAS_SSHD = existsSync(SSHD) && isHere('ssh') && isHere('ssh-keygen')

const running = new Set<Sshd>()
afterAll(() => {
  for (const one of running) one.stop()
})

export class Sshd {
  readonly base = temporary('sshd')
  /** Of the account, as a session there sees it. */
  readonly home = join(this.base, 'account')
  /** A directory for PATH, in which `ssh` knows the key and the port. */
  readonly bin = join(this.base, 'bin')
  /** Connections so far. */
  #log = ''
  #server: ChildProcess | undefined

  static async start({ shell = '/bin/sh', tools }: { shell?: string; tools?: string } = {}): Promise<Sshd> {
    const sshd = new Sshd()
    for (const path of [sshd.home, sshd.bin]) mkdirSync(path, { mode: 0o755 })
    const port = await freePort()
    for (const name of ['host', 'person'])
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(sshd.base, name)])
    const forced = join(sshd.base, 'forced')
    // What the account's shell would see; SSH_ORIGINAL_COMMAND is what was asked for.
    const path = tools ?? '/usr/bin:/bin'
    writeFileSync(
      forced,
      `#!/bin/sh\necho "welcome to this machine"\nHOME='${sshd.home}' PATH='${path}' exec ${shell} -c "$SSH_ORIGINAL_COMMAND"\n`,
    )
    chmodSync(forced, 0o755)
    writeFileSync(
      join(sshd.base, 'sshd_config'),
      `Port ${port}
ListenAddress 127.0.0.1
HostKey ${join(sshd.base, 'host')}
AuthorizedKeysFile ${join(sshd.base, 'person.pub')}
ForceCommand ${forced}
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
LogLevel ERROR
`,
    )
    writeFileSync(
      join(sshd.base, 'config'),
      `Host *
HostName 127.0.0.1
Port ${port}
User ${userInfo().username}
IdentityFile ${join(sshd.base, 'person')}
IdentitiesOnly yes
UserKnownHostsFile ${join(sshd.base, 'known')}
StrictHostKeyChecking accept-new
`,
    )
    writeFileSync(
      join(sshd.bin, 'ssh'),
      `#!/bin/sh\nexec /usr/bin/ssh -F '${join(sshd.base, 'config')}' "$@"\n`,
    )
    chmodSync(join(sshd.bin, 'ssh'), 0o755)
    await sshd.#listen(port)
    return sshd
  }

  async #listen(port: number): Promise<void> {
    // Where sshd changes users it wants this directory, which Debian's service makes.
    if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true })
    const server = spawn(SSHD, ['-D', '-e', '-f', join(this.base, 'sshd_config')], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#server = server
    running.add(this)
    server.stderr?.on('data', (words: Buffer) => {
      this.#log += words
    })
    for (;;) {
      if (server.exitCode !== null) throw new Error(`sshd ended: ${this.#log}`)
      const socket = connect(port, '127.0.0.1')
      const isUp = await Promise.race([
        once(socket, 'connect').then(() => true),
        once(socket, 'error').then(() => false),
      ]).catch(() => false)
      socket.destroy()
      if (isUp) return
      await new Promise((done) => setTimeout(done, 20))
    }
  }

  stop(): void {
    running.delete(this)
    this.#server?.kill()
  }
}
