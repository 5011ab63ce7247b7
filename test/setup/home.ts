// No test may see this machine's home: each worker gets an empty one, and no agent's own variables.
import { temporary } from './temporary.ts'

const home = temporary('home')
process.env['HOME'] = home
for (const name of Object.keys(process.env)) {
  if (/^(CLAUDE|CODEX|GROK|HELIX|RECOLLECT|XDG)_/.test(name) && !name.startsWith('RECOLLECT_TEST_')) {
    delete process.env[name]
  }
}
