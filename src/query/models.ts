// The models in the ledger: what has to be priced.
import { slotsTable } from '../store/slots.ts'
import type { ReadHandle } from '../store/store.ts'

/** All of them, or those that some sessions used. */
export function modelsIn({ memory }: Pick<ReadHandle, 'memory'>, sessions?: readonly string[]): string[] {
  const where = sessions ? 'WHERE session_uid IN (SELECT value FROM json_each(?))' : ''
  const models = memory.prepare(`SELECT DISTINCT model FROM ${slotsTable(memory)} ${where}`)
  const rows = models.all(...(sessions ? [JSON.stringify(sessions)] : [])) as unknown as { model: string }[]
  return rows.map((row) => row.model)
}
