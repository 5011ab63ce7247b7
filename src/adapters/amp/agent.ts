// Amp. Not verified: built from what other programs know of its files; it does not start without an account.
import { join } from 'node:path'
import type { Agent } from '../agent.ts'
import { dataFolder, hasFolders, lastParts } from '../kit/paths.ts'

const THREAD = /^T-[\w-]+\.json$/

export const agent: Agent = {
  flavor: 'amp',
  title: 'Amp',
  aliases: ['sourcegraph-amp', 'ampcode', 'amp-code'],
  version: 1,
  roots: (env) => [join(env['AMP_DATA_DIR'] || dataFolder(env, 'amp'), 'threads')],
  claim: (path, isBelowRoot = false) => {
    const [name = ''] = lastParts(path, 1)
    return THREAD.test(name) && (isBelowRoot || hasFolders(path, 'amp', 'threads')) ? { path } : null
  },
  load: () => import('./read.ts'),
  resume: (id) => `amp threads continue ${id}`,
}
