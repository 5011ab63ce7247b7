// Programs that stand in for those of the machine, so that a test does not depend on what is installed: put their directory
// on the PATH, or an empty one.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A shell script in `bin`, which finds the programs of this machine whatever the PATH of its caller. */
export function addStandIn(bin: string, name: string, body: string): void {
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, name), `#!/bin/sh\nPATH='${process.env['PATH']}'\n${body}\n`)
  chmodSync(join(bin, name), 0o755)
}

/** systemd's and cron's programs for one person: they note what they are told in `home/log`. Returns their directory. */
export function standInSchedulers(home: string): string {
  const bin = join(home, 'bin')
  const state = join(home, 'enabled')
  const tab = join(home, 'crontab')
  const noted = (name: string): string => `echo "${name} $*" >> '${join(home, 'log')}'\n`
  addStandIn(
    bin,
    'systemctl',
    `${noted('systemctl')}case "$*" in *is-enabled*) test -e '${state}';; *enable*) touch '${state}';; *disable*) rm -f '${state}';; esac`,
  )
  addStandIn(
    bin,
    'crontab',
    `${noted('crontab')}case "$1" in -l) cat '${tab}' 2>/dev/null || { echo "no crontab for me" >&2; exit 1; };; -r) rm '${tab}';; -) cat > '${tab}';; esac`,
  )
  return bin
}
