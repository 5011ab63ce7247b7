// Declares `export`.
import { ID_HELP } from '../query/ids.ts'
import type { OurCommand } from './command.ts'
import { addFilters } from './filters.ts'

export function addExportCommands(program: OurCommand): void {
  addFilters(
    program
      .command('export')
      .argument('[ids...]', ID_HELP)
      .description('sessions as Markdown, HTML, JSON Lines, ATIF or OpenTelemetry spans'),
  )
    .option('--all', 'every session, or every one the filters leave')
    .option('--format <format>', 'md, html, jsonl, atif or otlp', 'md')
    .option('--out <path>', 'a file, or a directory for a file per session (stdout)')
    .option('--endpoint <url>', 'with otlp: send to this collector over HTTP')
    .notes(`Sub-agents are exported with their session. What was recorded is redacted
already. Of a session whose events are gone its digest is exported, and the
export says so. docs/export.md

Exit code: 0 done, 4 done but a collector rejected some spans, or some
bodies could not be read (their sessions are named).`)
    .action(async (ids, options) => (await import('./export.ts')).runExport(ids, options))
    .examples(
      ['recollect export @last > session.md', 'the newest session'],
      ['recollect export 7c36 --format html --out session.html', 'to read or to send'],
      ['recollect export --all --repo shop --format atif --out traces/', 'a file per session'],
      ['recollect export --all --format otlp --endpoint http://localhost:4318', 'to a collector'],
    )
}
