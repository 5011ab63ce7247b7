import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { defineConfig } from 'tsdown'

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))

// zod is inlined: unbundled it costs 60 ms of CPU at import, bundled about 10 ms.

/** `recollect/adapters/<flavor>`: one entry per folder that has one. */
const adapters = Object.fromEntries(
  readdirSync('src/adapters', { withFileTypes: true })
    .filter(({ name }) => existsSync(`src/adapters/${name}/index.ts`))
    .map(({ name }) => [`adapters/${name}`, `src/adapters/${name}/index.ts`]),
)

/** What is told fails the build, so what is told is read: how long plugins take, and that ours is CommonJS, is known. */
const quiet = {
  // All of them write into one directory.
  clean: false,
  logLevel: 'warn',
  failOnWarn: true,
  checks: { pluginTimings: false, legacyCjs: false },
}

const shared = {
  target: 'node20.19',
  platform: 'node',
  define: { VERSION: JSON.stringify(version) },
  ...quiet,
}

// commander loads node:child_process for a feature we do not use, in every command.
const lazyChildProcess = {
  name: 'lazy-child-process',
  transform: (code, id) =>
    id.endsWith('commander/lib/command.js')
      ? code.replace(
          "const childProcess = require('node:child_process');",
          "const childProcess = { spawn: (...args) => require('node:child_process').spawn(...args) };",
        )
      : undefined,
}

// A default import that is handed on from one chunk to another comes out undefined in CommonJS.
const globalProcess = {
  name: 'global-process',
  transform: (code, id) =>
    id.includes('@modelcontextprotocol')
      ? code.replace('import process from "node:process";', 'const process = globalThis.process;')
      : undefined,
}

// zod tells the compiler to accept a line as it stands. Printed anew, the comment shares that line and says nothing any
// more: users who check the declarations of their dependencies (`skipLibCheck: false`) could not compile.
const ignoredLines = {
  name: 'ignored-lines',
  generateBundle: (_, bundle) => {
    for (const chunk of Object.values(bundle))
      if (chunk.code) chunk.code = chunk.code.replace(/ *(\/\*\* @ts-ignore [^*]*\*\/) *(?=\S)/g, '\n$1\n')
  },
}

// One letter beyond ASCII makes V8 keep the whole file with two bytes for each letter, which costs every start a millisecond.
const onlyAscii = {
  name: 'only-ascii',
  generateBundle: (_, bundle) => {
    // Where a backslash is meant as it stands, the letters stay as well.
    for (const chunk of Object.values(bundle))
      if (chunk.code !== undefined && !/\\[^\x00-\x7f]|String\.raw/.test(chunk.code))
        chunk.code = chunk.code.replace(
          /[^\x00-\x7f]/g,
          (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
        )
  },
}

const inlined = {
  // Its main file is UMD, which cannot be bundled.
  alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
  deps: {
    alwaysBundle: [
      'zod',
      'commander',
      /^@?hono\b/,
      'smol-toml',
      'jsonc-parser',
      'diff',
      '@bomb.sh/tab',
      '@pydantic/genai-prices',
      /^@modelcontextprotocol\//,
      /^pg(?:-|$)/,
      'pgpass',
      'split2',
      /^postgres-/,
      'xtend',
      'openid-client',
      'oauth4webapi',
      'jose',
    ],
  },
}

const library = defineConfig({
  ...shared,
  ...inlined,
  entry: {
    index: 'src/index.ts',
    record: 'src/record/index.ts',
    reader: 'src/sweep/thread.ts',
    'file-changes': 'src/web/server/file-changes-thread.ts',
    ...adapters,
  },
  format: 'esm',
  plugins: [ignoredLines],
  outExtensions: () => ({ js: '.js', dts: '.d.ts' }),
  dts: true,
})

/** What most commands that read load: in one file, since each costs a third of a millisecond to find and open. */
const READING = [
  '(errors|model|config|settings)',
  'sqlite/driver',
  'store/(database|decisions|digest-words|reading|rows|schema|segments|slots|words)',
  'query/(candidates|decisions|filters|ids|line|search[a-z-]*|sessions|short-ids)',
  'files/(builtin|directory|reading|sha1)',
  'adapters/(flavors|index|integration|mcp-arguments|resume|guards|[a-z]+/(agent|integration|mcp|paths))',
  'record/file-names',
  'cli/(colour|exit|filter-values|filters|format|help|print|retention-report|streams|table|text|values|with-memory)',
]

/** The command line: as CommonJS a command starts in a quarter less time than as modules. */
const program = defineConfig({
  ...shared,
  ...inlined,
  plugins: [lazyChildProcess, globalProcess, onlyAscii],
  entry: { main: 'src/cli/main.ts' },
  format: 'cjs',
  outputOptions: {
    codeSplitting: { groups: [{ name: 'reading', test: new RegExp(`/src/(${READING.join('|')})\\.ts$`) }] },
  },
  outExtensions: () => ({ js: '.cjs' }),
  dts: false,
})

/** What starts it: a small file of its own, which reads the other ones by itself. */
const starter = defineConfig({
  ...shared,
  entry: { cli: 'src/cli/start.ts' },
  format: 'cjs',
  outExtensions: () => ({ js: '.cjs' }),
  dts: false,
})

/** The hook handler, which agents wait for: CommonJS starts 6 ms sooner, and a name by which settings files tell it apart. */
const handler = defineConfig({
  ...shared,
  entry: { 'recollect-hook': 'src/capture/hook.ts' },
  format: 'cjs',
  outExtensions: () => ({ js: '.cjs' }),
  dts: false,
})

/** The page: one script for the browser, with the files that go beside it. */
const page = defineConfig({
  ...quiet,
  entry: { page: 'src/web/page/main.tsx' },
  outDir: 'dist/page',
  format: 'esm',
  platform: 'browser',
  target: 'es2022',
  minify: true,
  dts: false,
  deps: { alwaysBundle: [/./] },
  outExtensions: () => ({ js: '.js' }),
  copy: ['index.html', 'style.css', 'session.css', 'icon.svg'].map((name) => ({
    from: `src/web/page/${name}`,
    to: 'dist/page',
  })),
  tsconfig: 'src/web/page/tsconfig.json',
})

export default [page, library, program, starter, handler]
