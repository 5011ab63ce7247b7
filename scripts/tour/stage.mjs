// The stage of a tour: a home directory with the program installed in it and nothing else in reach: no real agent, no real
// crontab, no systemd. Its path is as long on every machine, so that lines break at the same places.
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '..', '..')
/** As long as the path that mkdtemp makes. */
const SHOWN_HOME = '/home/visitor'
const TOOLS = ['sh', 'cat', 'head', 'ls', 'rm', 'mv', 'cut']

/** Keeps what it is given, as the real one does. */
const CRONTAB = `#!/bin/sh
file="$HOME/.local/crontab"
case "$1" in
  -l) [ -f "$file" ] && cat "$file" || { echo "no crontab for visitor" >&2; exit 1; } ;;
  -r) rm -f "$file" ;;
  *) cat > "$file" ;;
esac
`

export function makeStage() {
  const home = mkdtempSync('/tmp/rc')
  const bin = join(home, '.local', 'bin')
  const lib = join(home, '.local', 'lib', 'recollect')
  const memory = join(home, '.local', 'share', 'recollect')
  for (const directory of [bin, lib, memory]) mkdirSync(directory, { recursive: true, mode: 0o700 })
  for (const part of ['dist', 'samples', 'package.json'])
    cpSync(join(ROOT, part), join(lib, part), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(lib, 'node_modules'))
  symlinkSync(join(lib, 'dist', 'cli.cjs'), join(bin, 'recollect'))
  symlinkSync(process.execPath, join(bin, 'node'))
  for (const tool of TOOLS) symlinkSync(`/bin/${tool}`, join(bin, tool))
  writeFileSync(join(bin, 'crontab'), CRONTAB)
  chmodSync(join(bin, 'crontab'), 0o755)
  // The same key everywhere: redacted values get the same marks.
  writeFileSync(join(memory, 'redaction.key'), Buffer.alloc(32, 7), { mode: 0o600 })
  return {
    home,
    memory,
    env: {
      HOME: home,
      PATH: bin,
      TZ: 'UTC',
      LANG: 'C.UTF-8',
      RECOLLECT_MCP_TOKEN: 'a-token-that-is-always-the-same',
      NODE_OPTIONS: `--require ${join(import.meta.dirname, 'fixed.cjs')}`,
    },
    masked: (text) => MASKS.reduce((so, [pattern, by]) => so.replace(pattern, by), withShownHome(text, home)),
    remove: () => rmSync(home, { recursive: true, force: true }),
  }
}

/** The agents' files of the bundled samples, as agents would have left them in that home. */
export function bringAgents({ home }) {
  for (const agent of ['.claude', '.codex', '.grok'])
    cpSync(join(ROOT, 'samples', agent), join(home, agent), { recursive: true })
}

/** Also where the terminal broke it in two. */
function withShownHome(text, home) {
  const letters = [...home].map((letter) => letter.replace(/\W/, '\\$&'))
  return text.replace(new RegExp(letters.join('\\n?'), 'g'), (found) => {
    const at = found.indexOf('\n')
    return at === -1 ? SHOWN_HOME : `${SHOWN_HOME.slice(0, at)}\n${SHOWN_HOME.slice(at)}`
  })
}

const digitless = (text) => text.replace(/[\da-f]/g, '#')

/** What no clock and no path can fix: the room a file system takes, ports, tokens, how long a program ran. */
const MASKS = [
  [/\d+(?:\.\d+)?(?= (?:B|KB|MB)(?: of |, would| →| >| over| of payload))/g, digitless],
  // How many digits it has depends on the file system as well.
  [/(?<=\()\d+(?:\.\d+)?(?= (?:B|KB|MB)\): (?:analyzed|NOT analyzed))/g, '##.#'],
  [/\d+(?:\.\d+)?(?= (?:B|KB|MB)\)?:? {1,2}(?:analyzed|NOT analyzed))/g, digitless],
  [/(?<=would be |→ |KB > )\d+(?:\.\d+)?(?= (?:B|KB|MB))/g, digitless],
  [/(?<="bytes": )\d+/g, '#'],
  [/(?<=works, )[\d.]+m?s/g, '#'],
  [/(?<=127\.0\.0\.1:)\d+(?=\/(?:mcp|open))/g, '#####'],
  [/(?<=token=)[\w-]+/g, '#'],
  [/(?<="uuid":")[\w-]{36}/g, digitless],
]
