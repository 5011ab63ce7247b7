// What became of telling a hub and a collector: warnings on stderr, and the part of a report that is JSON.

import type { TelemetryReport } from '../export/telemetry.ts'
import { harmless } from '../export/text.ts'
import type { HubReport } from '../hub/index.ts'
import { tell } from './print.ts'

/** Never a reason for another exit code: what was asked for is done. */
export function reportHub(hub: Pick<HubReport, 'problems'> | undefined): void {
  for (const problem of hub?.problems ?? []) {
    tell(
      harmless(
        `warning: ${problem.message} [${problem.code}]\nwhere: ${problem.where}\ntry: ${problem.hint}\n`,
      ),
    )
  }
}

export function hubJson(hub: HubReport): Record<string, unknown> {
  const { files, posts } = hub
  return {
    ...(files ? { files: { written: files.written, removed: files.removed } } : {}),
    ...(posts
      ? { posts: { delivered: posts.delivered, pending: posts.pending, given_up: posts.givenUp } }
      : {}),
    problems: hub.problems,
  }
}

export const telemetryJson = (report: TelemetryReport): Record<string, unknown> => ({
  sent: report.sent,
  rejected_spans: report.rejectedSpans,
  has_more: report.hasMore,
  problems: report.problems,
})
