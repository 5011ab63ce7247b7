// Charts as SVG, drawn by hand: standing bars per day, and one bar in parts. Colours come from the page's style; every
// value is also told in words, in the table beside it.

import { escapeHtml } from './escape.ts'
import type { Chart } from './sections.ts'

const WIDTH = 560
const HEIGHT = 200
const TOP = 22
const BOTTOM = 28
/** More labels than this would run into each other. */
const MAX_LABELS = 10

export function chartSvg(chart: Chart): string {
  return chart.kind === 'columns' ? columnsSvg(chart) : partsSvg(chart)
}

function svg(chart: Chart, height: number, body: string): string {
  const said = chart.items.map((item) => `${item.label}: ${item.shown}`).join(', ')
  return `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escapeHtml(`${chart.title}. ${said}`)}">${body}</svg>`
}

function columnsSvg(chart: Chart): string {
  const most = Math.max(...chart.items.map((item) => item.value), 0)
  const step = WIDTH / chart.items.length
  const width = Math.min(44, step * 0.62)
  const floor = HEIGHT - BOTTOM
  const every = Math.ceil(chart.items.length / MAX_LABELS)
  const peak = chart.items.findIndex((item) => item.value === most)
  const bars = chart.items.map((item, at) => {
    const height = most === 0 ? 0 : ((floor - TOP) * item.value) / most
    const middle = step * (at + 0.5)
    const isNamed = chart.items.length <= MAX_LABELS || at === peak
    const value =
      item.value > 0 && isNamed
        ? `<text class="value" x="${at1(middle)}" y="${at1(floor - height - 6)}">${escapeHtml(item.shown)}</text>`
        : ''
    const label =
      at % every === 0
        ? `<text class="label" x="${at1(middle)}" y="${HEIGHT - 9}">${escapeHtml(item.label)}</text>`
        : ''
    const bar = `<rect class="bar" x="${at1(middle - width / 2)}" y="${at1(floor - height)}" width="${at1(width)}" height="${at1(height)}" rx="3"><title>${escapeHtml(`${item.label}: ${item.shown}`)}</title></rect>`
    return item.value > 0 ? bar + value + label : label
  })
  const axis = `<line class="axis" x1="0" y1="${floor + 0.5}" x2="${WIDTH}" y2="${floor + 0.5}"/>`
  return svg(chart, HEIGHT, axis + bars.join(''))
}

const BAR = 26
const LEGEND = 22

function partsSvg(chart: Chart): string {
  const total = chart.items.reduce((sum, item) => sum + item.value, 0)
  let x = 0
  const parts = chart.items.map((item) => {
    const width = total === 0 ? 0 : (WIDTH * item.value) / total
    const from = x
    x += width
    if (width === 0) return ''
    const share = `<rect class="part ${classOf(item.role)}" x="${at1(from)}" y="0" width="${at1(Math.max(1, width - 2))}" height="${BAR}" rx="3"><title>${escapeHtml(`${item.label}: ${item.shown}`)}</title></rect>`
    return share
  })
  const slot = WIDTH / chart.items.length
  const legend = chart.items.map(
    (item, at) =>
      `<rect class="part ${classOf(item.role)}" x="${at1(at * slot)}" y="${BAR + 14}" width="10" height="10" rx="2"/><text class="key" x="${at1(at * slot + 16)}" y="${BAR + 23}">${escapeHtml(`${item.label} ${item.shown}`)}</text>`,
  )
  return svg(chart, BAR + LEGEND + 8, parts.join('') + legend.join(''))
}

const at1 = (value: number): string => String(Math.round(value * 10) / 10)
const classOf = (role: string | undefined): string => (role ?? '').replace(/[^a-z]/g, '')
