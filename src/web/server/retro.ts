// The account of some days, as `recollect retro --json` tells it, and as the document that all its forms are made of.
import { retroDocument } from '../../retro/document.ts'
import { type RetroQuestion, retroReport } from '../../retro/index.ts'
import { periodOf } from '../../retro/period.ts'
import type { RetroReport } from '../../retro/report.ts'
import type { RetroDocument } from '../../retro/sections.ts'
import type { Memory } from './memory.ts'
import type { Params } from './params.ts'

export type RetroAnswer = RetroReport & { document: RetroDocument }

export function retroAnswer(memory: Memory, params: Params): RetroAnswer {
  const zone = params.zone()
  const [since, until] = [params.text('since'), params.text('until')]
  const wish = { ...(since === undefined ? {} : { since }), ...(until === undefined ? {} : { until }) }
  const question: RetroQuestion = { period: periodOf(wish, zone, Date.now()), zone, prices: memory.prices }
  for (const name of ['flavor', 'repo', 'domain'] as const) {
    const value = params.text(name)
    if (value !== undefined) question[name] = value
  }
  const report = retroReport(memory.handle(), question)
  return { ...report, document: retroDocument(report, (ref) => ref) }
}
