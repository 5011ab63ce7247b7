// A document as Markdown. Foreign text is escaped: it may look like Markdown or HTML.
import type { Cell, RetroDocument, Section, Table } from './sections.ts'

export function toMarkdown(document: RetroDocument): string {
  const figures = document.figures.map(
    ({ label, value, change }) => `| ${escaped(label)} | ${escaped(value)} | ${escaped(change)} |`,
  )
  const lines = [
    `# ${escaped(document.title)}`,
    '',
    escaped(document.subtitle),
    '',
    '| | now | change |',
    '|---|---:|---:|',
    ...figures,
    ...document.sections.flatMap(sectionLines),
    '',
    '---',
    '',
    ...document.notes.map((note) => `- ${escaped(note)}`),
  ]
  return `${lines.join('\n')}\n`
}

function sectionLines({ title, lines, table }: Section): string[] {
  return [
    '',
    `## ${escaped(title)}`,
    ...lines.flatMap((line) => ['', escaped(line)]),
    ...(table ? ['', ...tableLines(table)] : []),
  ]
}

function tableLines({ columns, rows }: Table): string[] {
  return [
    `| ${columns.map((one) => escaped(one.title)).join(' | ')} |`,
    `|${columns.map((one) => (one.isNumber ? '---:' : '---')).join('|')}|`,
    ...rows.map((row) => `| ${row.map(cellText).join(' | ')} |`),
  ]
}

function cellText(cell: Cell): string {
  if (typeof cell === 'string') return escaped(cell)
  if ('refs' in cell) return cell.refs.map((ref) => code(ref)).join(' ')
  return code(cell.code)
}

const flat = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()

const escaped = (text: string): string => flat(text).replace(/[\\`*_[\]<>|~&#!]/g, '\\$&')

/** A fence longer than any in it; in a table a pipe ends the cell even inside code. */
function code(text: string): string {
  const shown = flat(text).replaceAll('|', '\\|')
  if (shown === '') return ''
  const longest = Math.max(0, ...[...shown.matchAll(/`+/g)].map((match) => match[0].length))
  const fence = '`'.repeat(longest + 1)
  return longest === 0 ? `${fence}${shown}${fence}` : `${fence} ${shown} ${fence}`
}
