// Builds dist/ as tsdown.config.ts says. Silent unless it fails: tsdown's own program greets every Node 20 with a warning.
import { build } from 'tsdown'

await build({ logLevel: 'warn' })
