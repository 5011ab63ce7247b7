// What the documents say of files and commands is true.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ADAPTERS } from '../src/adapters/index.ts'

const inDirectory = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' }).map((name) => join(directory, name))
const documents = [...readdirSync('.'), ...['docs', 'examples', 'src'].flatMap(inDirectory)]
  .filter((path) => path.endsWith('.md'))
  .map((path) => ({ path, text: readFileSync(path, 'utf8') }))
const architecture = readFileSync('ARCHITECTURE.md', 'utf8')

/** The names on the heading's lines, as links to them are written. */
const anchorsOf = (text: string): string[] =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
    (title as string)
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )

describe('every document', () => {
  it('is found', () => {
    const paths = documents.map((document) => document.path)
    expect(paths).toEqual(expect.arrayContaining(['README.md', 'docs/record-pipe.md', 'docs/formats/run.md']))
  })

  it('links to what exists', () => {
    const broken: string[] = []
    for (const { path, text } of documents) {
      for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
        const [file, anchor] = (target as string).split('#') as [string, string?]
        if (/^https?:/.test(file)) continue
        const full = file === '' ? path : join(dirname(path), file)
        const isThere =
          existsSync(full) &&
          (anchor === undefined ||
            (statSync(full).isFile() && anchorsOf(readFileSync(full, 'utf8')).includes(anchor)))
        if (!isThere) broken.push(`${path}: ${target}`)
      }
    }
    expect(broken).toEqual([])
  })

  it('names npm scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      scripts: Record<string, string>
    }
    const unknown = documents.flatMap(({ path, text }) =>
      [...text.matchAll(/npm run ([\w:-]+)/g)]
        .filter(([, name]) => scripts[name as string] === undefined)
        .map(([command]) => `${path}: ${command}`),
    )
    expect(unknown).toEqual([])
  })
})

describe('every agent', () => {
  const own = ['entire', 'run', 'turns', 'lineage']

  it('stands in the README, and with its own row in docs/sources.md', () => {
    const [readme, sources] = ['README.md', 'docs/sources.md'].map((path) => readFileSync(path, 'utf8'))
    for (const { flavor, title } of ADAPTERS) {
      if (!own.includes(flavor)) expect(readme).toMatch(new RegExp(`[ (]${title}[,; )]`))
      expect(sources).toContain(`| [\`${flavor}\`](`)
    }
  })
})

describe('ARCHITECTURE.md', () => {
  it('names everything directly below src/, and nothing else', () => {
    const [, tree] = /^src\/\n(.*?)^```$/ms.exec(architecture) as unknown as [string, string]
    const named = tree
      .split('\n')
      .filter(Boolean)
      .map((line) => line.trim().split(/\s/)[0])
    const real = readdirSync('src', { withFileTypes: true }).map(
      (entry) => `${entry.name}${entry.isDirectory() ? '/' : ''}`,
    )
    expect(named.toSorted()).toEqual(real.toSorted())
  })

  it('names tests that exist', () => {
    const tests = readdirSync('test')
    const missing = [...architecture.matchAll(/`test\/([\w*.-]+)`/g)].filter(([, name]) => {
      const pattern = new RegExp(`^${(name as string).replaceAll('.', '\\.').replace('*', '.*')}$`)
      return !tests.some((test) => pattern.test(test))
    })
    expect(missing).toEqual([])
  })
})
