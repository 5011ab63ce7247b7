// `npm run check`: the formatter, the compilers and the search for what nobody uses, beside each other; says only what failed.
import { spawn } from 'node:child_process'
import { delimiter, join } from 'node:path'

const MODULES = join(import.meta.dirname, '..', 'node_modules')
/** TypeScript 7, a third of the CPU time; tests and the bundler still use 6 as a library, which 7 is not (note 0088). */
const TSC = join(MODULES, 'typescript-native', 'bin', 'tsc')
const COMMANDS = [[TSC], [TSC, '-p', 'src/web/page'], ['biome', 'ci', '.'], ['knip']]
const PATH = [join(MODULES, '.bin'), process.env.PATH].join(delimiter)

const run = ([program, ...words]) =>
  new Promise((done, fail) => {
    const child = spawn(program, words, { env: { ...process.env, PATH }, stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        said += text
      })
    child.on('error', fail)
    child.on('close', (code) => {
      if (code !== 0) {
        console.error(`${[program, ...words].join(' ')} ended with ${code}:\n${said}`)
        process.exitCode = 1
      }
      done()
    })
  })

await Promise.all(COMMANDS.map(run))
