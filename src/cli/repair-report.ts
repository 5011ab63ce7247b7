// What `sweep --repair` found and did: the damaged files, rows, bodies and indexes, with what is lost, by name and count.
import type { Salvage } from '../store/salvage.ts'
import type { RepairReport } from '../store/store.ts'
import { plural, printable } from './format.ts'

export function repairLines({ bodyCount, indexCount, mended, salvaged }: RepairReport): string[] {
  const parts = [
    ...(bodyCount > 0 ? [bodyCount === 1 ? '1 body' : `${bodyCount} bodies`] : []),
    ...(indexCount > 0 ? [indexCount === 1 ? 'the full-text index' : 'both full-text indexes'] : []),
  ]
  const lines = [
    ...salvaged.flatMap(salvageLines),
    ...mended.map(({ what, count }) => `mended: ${count} ${what}`),
    ...(parts.length > 0
      ? [`damaged, and made again from what the agents still have: ${parts.join(' and ')}`]
      : []),
  ]
  return lines.length === 0
    ? ['nothing was damaged']
    : [...lines, 'recollect verify says whether all is whole']
}

function salvageLines({ file, keptAs, rowCount, lost }: Salvage): string[] {
  const tables = lost.map(({ table, pageCount, rowCount: rows }) => {
    const parts = [
      ...(pageCount > 0 ? [plural(pageCount, 'unreadable page')] : []),
      ...(rows > 0 ? [plural(rows, 'unreadable row')] : []),
    ]
    return `${table}: ${parts.join(' and ')}`
  })
  return [
    `${file} was damaged: ${plural(rowCount, 'row')} saved into a new file${keptAs ? `, the damaged one is kept as ${printable(keptAs)}` : ''}`,
    ...(tables.length > 0 ? [`  lost in ${tables.join(', ')}`] : []),
  ]
}

export function repairJson({
  bodyCount,
  indexCount,
  mended,
  salvaged,
}: RepairReport): Record<string, unknown> {
  return {
    bodies: bodyCount,
    indexes: indexCount,
    rows: mended,
    files: salvaged.map(({ file, keptAs, rowCount, lost }) => ({
      file,
      kept_as: keptAs,
      rows_saved: rowCount,
      lost: lost.map(({ table, pageCount, rowCount: rows }) => ({ table, pages: pageCount, rows })),
    })),
  }
}
