import { readdirSync, readFileSync } from 'node:fs'
import { defineConfig } from 'tsdown'

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }

// zod is inlined: unbundled it costs 60 ms of CPU at import, bundled about 10 ms.

/** `recollect/adapters/<flavor>`: one entry per folder. */
const adapters = Object.fromEntries(
  readdirSync('src/adapters', { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => [`adapters/${name}`, `src/adapters/${name}/index.ts`]),
)

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    record: 'src/record/index.ts',
    cli: 'src/cli/main.ts',
    reader: 'src/sweep/thread.ts',
    ...adapters,
  },
  format: 'esm',
  target: 'node20.19',
  platform: 'node',
  outExtensions: () => ({ js: '.js', dts: '.d.ts' }),
  dts: true,
  define: { VERSION: JSON.stringify(version) },
  noExternal: ['zod', 'commander', 'smol-toml', '@pydantic/genai-prices', /^@modelcontextprotocol\//],
  clean: true,
})
