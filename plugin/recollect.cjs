// Starts the installed Recollect for a plugin, which holds no copy of it: `recollect.cjs mcp` the server, `recollect.cjs
// hook` the hook handler. A hook must not disturb the agent: it is silent and succeeds even where nothing is installed.
const { existsSync, realpathSync } = require('node:fs')
const { delimiter, dirname, isAbsolute, join } = require('node:path')

const CLI = 'cli.cjs'
const HANDLER = 'recollect-hook.cjs'

/** Directories that may hold the built program, the nearest first. */
function candidates() {
  // Absolute ones only: an agent starts us in projects, whose files are not ours to run.
  const directories = (process.env.PATH ?? '').split(delimiter).filter(isAbsolute)
  const onPath = directories.map((directory) => {
    try {
      return dirname(realpathSync(join(directory, 'recollect')))
    } catch {
      return ''
    }
  })
  const globalPackage = join(dirname(process.execPath), '..', 'lib', 'node_modules', 'recollect', 'dist')
  return [join(__dirname, '..', 'dist'), ...onPath, globalPackage]
}

const found = candidates().find((directory) => directory !== '' && existsSync(join(directory, HANDLER)))
const [command] = process.argv.slice(2)

if (command === 'hook') {
  if (found === undefined) process.exit(0)
  process.argv.splice(1, process.argv.length, join(found, HANDLER))
  try {
    require(join(found, HANDLER))
  } catch {
    // Half installed, as in the middle of an update.
    process.exit(0)
  }
} else if (found === undefined) {
  process.stderr.write('recollect is not installed: npm install -g recollect\n')
  process.exitCode = 1
} else {
  process.argv[1] = join(found, CLI)
  require(process.argv[1])
}
