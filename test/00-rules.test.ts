// The rules of the house that prose alone would not keep.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const sourceFiles = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name) && !entry.name.endsWith('.d.ts'))
  .map((entry) => relative(root, join(entry.parentPath, entry.name)))
  .sort()
const parsed = new Map(
  sourceFiles.map((path) => [
    path,
    ts.createSourceFile(path, readFileSync(join(root, path), 'utf8'), ts.ScriptTarget.ES2022, true),
  ]),
)

/** What a file imports: relative paths resolved to src/…, packages by name. Dynamic imports count too. */
function importsOf(path: string): string[] {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    const literal =
      ts.isImportDeclaration(node) || ts.isExportDeclaration(node)
        ? node.moduleSpecifier
        : ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword
          ? node.arguments[0]
          : undefined
    if (literal && ts.isStringLiteral(literal)) found.push(literal.text)
    ts.forEachChild(node, visit)
  }
  visit(parsed.get(path) as ts.SourceFile)
  return found.map((name) => (name.startsWith('.') ? join(dirname(path), name) : name))
}

// Along the flow: a folder may import from the ones named, and from itself.
const MAY_IMPORT: Record<string, string[]> = {
  'errors.ts': [],
  'model.ts': [],
  'settings.ts': [],
  'config.ts': ['errors.ts', 'settings.ts'],
  files: ['errors.ts'],
  web: ['errors.ts', 'config.ts', 'model.ts', 'store', 'usage', 'query', 'digest', 'retention', 'doctor'],
  redact: ['errors.ts', 'files'],
  record: ['errors.ts', 'files'],
  adapters: ['errors.ts', 'files', 'model.ts', 'record'],
  sources: ['errors.ts', 'config.ts', 'files', 'model.ts', 'adapters', 'store'],
  store: ['errors.ts', 'files', 'model.ts'],
  usage: ['errors.ts', 'config.ts', 'model.ts'],
  query: ['errors.ts', 'model.ts', 'store', 'usage'],
  export: ['errors.ts', 'model.ts', 'adapters', 'store', 'query', 'digest'],
  digest: ['errors.ts', 'model.ts', 'store', 'query'],
  retention: ['errors.ts', 'config.ts', 'store'],
  retro: ['errors.ts', 'model.ts', 'store', 'usage', 'query', 'digest'],
  hub: ['errors.ts', 'model.ts', 'config.ts', 'files', 'store'],
  'decide.ts': ['errors.ts', 'model.ts', 'config.ts', 'redact', 'store', 'query', 'digest', 'hub'],
  sweep: [
    'errors.ts',
    'model.ts',
    'config.ts',
    'files',
    'redact',
    'adapters',
    'sources',
    'store',
    'usage',
    'query',
    'digest',
    'retention',
    'hub',
  ],
  mcp: [
    'errors.ts',
    'model.ts',
    'config.ts',
    'adapters',
    'sources',
    'store',
    'usage',
    'query',
    'digest',
    'decide.ts',
  ],
  doctor: [
    'errors.ts',
    'model.ts',
    'config.ts',
    'adapters',
    'sources',
    'store',
    'usage',
    'query',
    'retention',
    'capture',
    'mcp',
  ],
  'index.ts': [
    'record',
    'model.ts',
    'errors.ts',
    'config.ts',
    'adapters',
    'usage',
    'query',
    'digest',
    'store',
    'sweep',
    'retro',
    'decide.ts',
  ],
  capture: ['errors.ts', 'config.ts', 'files', 'adapters', 'sources', 'sweep'],
  cli: [
    'web',
    'errors.ts',
    'config.ts',
    'model.ts',
    'record',
    'adapters',
    'store',
    'usage',
    'query',
    'digest',
    'retention',
    'hub',
    'retro',
    'decide.ts',
    'sweep',
    'capture',
    'files',
    'mcp',
    'export',
    'doctor',
  ],
}

const areaOf = (path: string): string => path.split('/')[1] as string

describe('imports', () => {
  it('point one way, along the flow', () => {
    const wrong: string[] = []
    for (const path of sourceFiles) {
      const allowed = MAY_IMPORT[areaOf(path)]
      if (!allowed) wrong.push(`${path}: its folder is not on the map`)
      for (const target of importsOf(path).filter((name) => name.startsWith('src/'))) {
        const area = areaOf(target)
        if (area !== areaOf(path) && !allowed?.includes(area)) wrong.push(`${path} imports ${target}`)
      }
    }
    expect(wrong).toEqual([])
  })

  it('of record/ reach nothing but node:*, its own files, zod and the lock library', () => {
    const seen = new Set<string>()
    const outside = new Set<string>()
    const walk = (path: string): void => {
      if (seen.has(path)) return
      seen.add(path)
      for (const target of importsOf(path)) {
        if (target.startsWith('src/')) walk(target)
        else if (!target.startsWith('node:')) outside.add(target)
      }
    }
    walk('src/record/index.ts')
    expect([...seen].filter((path) => !/^src\/(record|files)\/|^src\/errors\.ts$/.test(path))).toEqual([])
    expect([...outside]).toEqual(['zod'])
    const lock = readFileSync(join(root, 'src/files/lock.ts'), 'utf8')
    expect(lock.match(/createRequire\(import\.meta\.url\)\('([^']+)'\)/)?.[1]).toBe('fs-native-extensions')
  })
})

describe('sizes', () => {
  it('of files stay within 400 lines', () => {
    const tooLong = sourceFiles.filter(
      (path) => (parsed.get(path) as ts.SourceFile).text.split('\n').length > 401,
    )
    expect(tooLong).toEqual([])
  })

  it('of functions stay within 60 lines', () => {
    const tooLong: string[] = []
    for (const [path, file] of parsed) {
      const visit = (node: ts.Node): void => {
        if (ts.isFunctionLike(node) && 'body' in node && node.body) {
          const line = (position: number): number => file.getLineAndCharacterOfPosition(position).line
          const count = line(node.end) - line(node.getStart()) + 1
          if (count > 60) tooLong.push(`${path}:${line(node.getStart()) + 1} has ${count} lines`)
        }
        ts.forEachChild(node, visit)
      }
      visit(file)
    }
    expect(tooLong).toEqual([])
  })
})

describe('names', () => {
  it('of agents appear only in their adapter', () => {
    const named: string[] = []
    for (const [path, file] of parsed) {
      if (path.startsWith('src/adapters/')) continue
      const scanner = ts.createScanner(ts.ScriptTarget.ES2022, true, ts.LanguageVariant.Standard, file.text)
      for (let token = scanner.scan(); token !== ts.SyntaxKind.EndOfFileToken; token = scanner.scan()) {
        const hit = /(?<![a-z])(claude|codex|grok|gemini|opencode|copilot)(?![a-z])/i.exec(
          scanner.getTokenText(),
        )
        if (hit) named.push(`${path}: ${hit[0]}`)
      }
    }
    expect(named).toEqual([])
  })
})

describe('the public surface', () => {
  it('equals the committed list', async () => {
    const entries = [
      ['recollect', 'src/index.ts'],
      ['recollect/record', 'src/record/index.ts'],
      ...readdirSync(join(root, 'src/adapters'), { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => [`recollect/adapters/${name}`, `src/adapters/${name}/index.ts`] as const),
    ] as const
    const program = ts.createProgram(
      entries.map(([, path]) => join(root, path)),
      {
        module: ts.ModuleKind.NodeNext,
        moduleResolution: ts.ModuleResolutionKind.NodeNext,
        allowImportingTsExtensions: true,
        noEmit: true,
      },
    )
    const checker = program.getTypeChecker()
    const lines: string[] = []
    for (const [name, path] of entries) {
      const symbol = checker.getSymbolAtLocation(program.getSourceFile(join(root, path)) as ts.SourceFile)
      for (const exported of checker.getExportsOfModule(symbol as ts.Symbol)) {
        const target = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
        lines.push(`${name} ${exported.name}${target.flags & ts.SymbolFlags.Value ? '' : ' (type)'}`)
      }
    }
    await expect(`${lines.sort().join('\n')}\n`).toMatchFileSnapshot('snapshots/exports.txt')
  })
})
