// A document as one HTML file that needs nothing else: no script, no font, no picture, no address but its own. Light or
// dark as the reader's system is; every chart has its table beside it; prints.
import { chartSvg } from './charts.ts'
import { escapeHtml } from './escape.ts'
import type { Cell, RetroDocument, Section, Table } from './sections.ts'

export const toHtml = (document: RetroDocument): string =>
  htmlPage(`${document.title}: ${document.subtitle}`, documentHtml(document))

/** A page that needs nothing else. `body` is markup. */
export function htmlPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
${body}
</body>
</html>
`
}

export const documentHtml = (document: RetroDocument): string =>
  `<header>
<h1>${escapeHtml(document.title)}</h1>
<p>${escapeHtml(document.subtitle)}</p>
</header>
<main>
<dl class="figures">${document.figures.map(figureHtml).join('')}</dl>
${document.sections.map(sectionHtml).join('\n')}
</main>
<footer><ul>${document.notes.map((note) => `<li>${escapeHtml(note)}</li>`).join('')}</ul></footer>`

const figureHtml = ({ label, value, change }: RetroDocument['figures'][number]): string =>
  `<div><dt>${escapeHtml(label)}</dt><dd class="large">${escapeHtml(value)}</dd><dd class="change">${escapeHtml(change)}</dd></div>`

function sectionHtml({ title, lines, charts, table }: Section): string {
  const figures = charts.map(
    (chart) => `<figure><figcaption>${escapeHtml(chart.title)}</figcaption>${chartSvg(chart)}</figure>`,
  )
  return [
    `<section><h2>${escapeHtml(title)}</h2>`,
    ...lines.map((line) => `<p>${escapeHtml(line)}</p>`),
    figures.length > 0 ? `<div class="charts">${figures.join('')}</div>` : '',
    table ? tableHtml(table, title) : '',
    '</section>',
  ].join('')
}

function tableHtml({ columns, rows }: Table, caption: string): string {
  const isNumber = (at: number): string => (columns[at]?.isNumber ? ' class="number"' : '')
  const head = columns.map((one, at) => `<th scope="col"${isNumber(at)}>${escapeHtml(one.title)}</th>`)
  const body = rows.map(
    (row) => `<tr>${row.map((cell, at) => `<td${isNumber(at)}>${cellHtml(cell)}</td>`).join('')}</tr>`,
  )
  return `<div class="scroll" role="region" aria-label="${escapeHtml(caption)}" tabindex="0"><table><thead><tr>${head.join('')}</tr></thead><tbody>${body.join('')}</tbody></table></div>`
}

function cellHtml(cell: Cell): string {
  if (typeof cell === 'string') return escapeHtml(cell)
  if ('code' in cell) return `<code>${escapeHtml(cell.code)}</code>`
  return cell.refs.map((ref) => `<code class="ref">${escapeHtml(ref)}</code>`).join(' ')
}

const STYLE = `
:root{--ink:#1d2127;--soft:#5c6570;--line:#dde1e6;--back:#f6f7f9;--card:#fff;--accent:#2f6fb3;--good:#2c7a4b;--bad:#b3372f;--left:#a8741a;--none:#8a929c}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e6e8eb;--soft:#a0a8b2;--line:#343a42;--back:#15181c;--card:#1d2126;--accent:#6aa5e0;--good:#5bb381;--bad:#e0736c;--left:#d9a653;--none:#79818b}}
*{box-sizing:border-box}
body{margin:0 auto;padding:2rem 1.25rem 3rem;max-width:72rem;background:var(--back);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",sans-serif}
h1{margin:0;font-size:1.75rem;letter-spacing:-.01em}
header p{margin:.25rem 0 0;color:var(--soft)}
h2{margin:0 0 .75rem;font-size:1.1rem}
.figures{display:grid;grid-template-columns:repeat(4,1fr);gap:.75rem;margin:1.5rem 0}
.figures div,section{background:var(--card);border:1px solid var(--line);border-radius:10px}
.figures div{padding:.75rem 1rem}
dt{color:var(--soft);font-size:.85rem}
dd{margin:0}
.large{font-size:1.45rem;font-weight:600;font-variant-numeric:tabular-nums}
.change{color:var(--soft);font-size:.85rem}
section{margin:0 0 1rem;padding:1.1rem 1.25rem}
section p{margin:0 0 .6rem;color:var(--soft);overflow-wrap:anywhere}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:1.25rem;margin-bottom:1rem}
figure{margin:0}
figcaption{color:var(--soft);font-size:.85rem;margin-bottom:.35rem}
svg{display:block;width:100%;height:auto;max-width:35rem}
svg text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",sans-serif;fill:var(--soft)}
.label,.value{text-anchor:middle}
svg .value{fill:var(--ink)}
.bar{fill:var(--accent)}
.axis{stroke:var(--line)}
.part{fill:var(--none)}
.success{fill:var(--good)}.fail{fill:var(--bad)}.abandoned{fill:var(--left)}
.scroll{overflow-x:auto}
table{width:100%;border-collapse:collapse;font-size:.9rem}
th{text-align:left;font-weight:600;color:var(--soft);white-space:nowrap}
th,td{padding:.4rem .75rem .4rem 0;border-bottom:1px solid var(--line);vertical-align:top}
tbody tr:last-child td{border-bottom:0}
td{overflow-wrap:break-word}
td code{overflow-wrap:anywhere}
td:first-child{min-width:8rem}
td:has(code:not(.ref)){min-width:16rem}
@media (max-width:40rem){.figures{grid-template-columns:repeat(2,1fr)}}
.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.number:not(:last-child){padding-right:1.25rem}
code{font:.85em ui-monospace,SFMono-Regular,Menlo,"DejaVu Sans Mono",monospace}
.ref{color:var(--soft);white-space:nowrap}
footer{color:var(--soft);font-size:.85rem}
footer ul{padding-left:1.1rem}
@media print{:root{color-scheme:only light}body{background:#fff;max-width:none;padding:0;font-size:12px}section{border-color:#ccc}h2,figcaption,thead{break-after:avoid}tr,figure,.figures div{break-inside:avoid}.scroll{overflow:visible}}
`
