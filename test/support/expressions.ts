// All regular expressions of the program: the literals, from the sources, and those that are built when a module is loaded,
// by loading it.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import ts from 'typescript'
import type { Expression } from './pumps.ts'

export interface Found extends Expression {
  file: string
  line: number
}

/** A place that builds an expression. */
export interface Built {
  file: string
  line: number
  text: string
  /** Whether it does so whenever a function is called, and not once. */
  isLater: boolean
}

const root = join(import.meta.dirname, '../..')

function sources(): ts.SourceFile[] {
  return readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name) && !entry.name.endsWith('.d.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) =>
      ts.createSourceFile(
        relative(root, path),
        readFileSync(path, 'utf8'),
        ts.ScriptTarget.ES2022,
        true,
        path.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS,
      ),
    )
}

export function expressionsIn(): { literals: Found[]; built: Built[] } {
  const literals: Found[] = []
  const built: Built[] = []
  for (const source of sources()) {
    const visit = (node: ts.Node, isLater: boolean): void => {
      const place = (): { file: string; line: number } => ({
        file: source.fileName,
        line: source.getLineAndCharacterOfPosition(node.getStart()).line + 1,
      })
      if (ts.isRegularExpressionLiteral(node)) {
        const end = node.text.lastIndexOf('/')
        literals.push({ ...place(), source: node.text.slice(1, end), flags: node.text.slice(end + 1) })
      }
      const isCall = ts.isNewExpression(node) || ts.isCallExpression(node)
      if (isCall && node.expression.getText() === 'RegExp')
        built.push({ ...place(), text: node.getText(), isLater })
      ts.forEachChild(node, (child) => visit(child, isLater || ts.isFunctionLike(node)))
    }
    visit(source, false)
  }
  return { literals, built }
}

/** The expressions that modules build while they are loaded. */
export async function builtBy(files: Iterable<string>): Promise<Found[]> {
  const found: Found[] = []
  const Plain = globalThis.RegExp
  for (const file of files) {
    globalThis.RegExp = new Proxy(Plain, {
      construct(target, given: [string | RegExp, string?]) {
        const made = new target(...given)
        found.push({ file, line: 0, source: made.source, flags: made.flags })
        return made
      },
    })
    try {
      await import(pathToFileURL(join(root, file)).href)
    } finally {
      globalThis.RegExp = Plain
    }
  }
  return found
}
