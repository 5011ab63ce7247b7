// Builds dist/ as tsdown.config.mjs says. Silent unless it fails: tsdown's own program greets every Node 20 with a warning.
import { rmSync } from 'node:fs'
import { build } from 'tsdown'
import configs from '../tsdown.config.mjs'

rmSync('dist', { recursive: true, force: true })
// Not by tsdown's own reading of the file: that writes into node_modules, which may be somebody else's.
await Promise.all(configs.map((config) => build({ ...config, config: false, logLevel: 'warn' })))
