// Declares `recollect record`: its formats and their options. The work is loaded when a command runs.
import { Option } from 'commander'
import type { OurCommand } from './command.ts'
import { LOCKED_SETTINGS, SETTINGS_OF_ALL } from './record/options.ts'
import { addSettings } from './settings.ts'

export function addRecordCommands(program: OurCommand): void {
  const record = program
    .command('record')
    .description('write a transcript: JSON lines in, acknowledgements out')
    .addHelpText('after', RULES)
  addTurns(record)
  addEntire(record)
  addRun(record)
  addLineage(record)
}

const RULES = `
Each input line is answered, in order, by {"ok":true,"line":N,…} once it is
durable, or by {"ok":false,"line":N,"error":{…}}: then nothing of it was
written, and the stream goes on. entire and run first print line 0, which names
the session or the run. Blank lines are counted and not answered.

Exit code: 0 all lines recorded, 4 some were refused, 1 some could not be
written, 2 wrong command line or setting, 129, 130 and 143 after SIGHUP, SIGINT
and SIGTERM (the line in hand is finished and answered first).
See docs/record-pipe.md.`

function addTurns(record: OurCommand): void {
  const turns = record
    .command('turns')
    .description('turn log: TranscriptEntry objects to <base>/agents/<agent>/sessions/<session>.jsonl')
    .requiredOption('--base <dir>', 'home of the transcripts')
    .requiredOption('--agent <id>', 'agent id')
    .requiredOption('--session <id>', 'session id')
    .action(async (options) => (await import('./record/turns.ts')).recordTurns(options))
  addSettings(
    turns,
    LOCKED_SETTINGS,
  ).notes(`Lines: {"turnId":…,"role":"user"|"assistant"|"tool"|"system","ts":…}
       and optionally content, toolCalls, toolResults, metadata
Fields the format does not know are kept.

Example:
  $ echo '{"turnId":"1","role":"user","content":"hi","ts":1}' |
      recollect record turns --base memory --agent main --session s1
  {"ok":true,"line":1,"turnId":"1","offset":0,"length":51}
${RULES}`)
}

function addEntire(record: OurCommand): void {
  const entire = record
    .command('entire')
    .description('Entire-compatible session in <cwd>/.entire/metadata/<session>/; the end of input ends it')
    .requiredOption('--cwd <dir>', 'project directory')
    .requiredOption('--agent-version <version>', 'version of the agent, written to every line')
    .option('--session <id>', 'session to continue, or the id of a new one (default: a new id)')
    .option('--model <name>', 'written to context.md and to responses that name no model')
    .action(async (options) => (await import('./record/entire.ts')).recordEntire(options))
  addSettings(entire, LOCKED_SETTINGS).notes(`Lines: {"role":"user","content":…}
       {"role":"assistant","content":…}
       and optionally usage, id, model, stopReason, requestId
content is a text or a list of blocks as in the Messages API.

Example:
  $ echo '{"role":"user","content":"explain main.rs"}' |
      recollect record entire --cwd . --agent-version 0.0.44
  {"ok":true,"line":0,"sessionId":"2026-02-10-…","path":"…/full.jsonl"}
  {"ok":true,"line":1,"uuid":"…","sessionId":"2026-02-10-…"}
${RULES}`)
}

function addRun(record: OurCommand): void {
  const ofNew = ['flow', 'identifier', 'suffix', 'date', 'flowId', 'nodeId', 'input', 'nextSuffix']
  const run = record
    .command('run')
    .description('one run: <base>/runs/<run id>/transcript.json')
    .requiredOption('--base <dir>', 'home of the runs')
    .addOption(
      new Option('--run-id <id>', 'the whole id; a new run then needs --flow-id').conflicts(
        ofNew.slice(0, 4),
      ),
    )
    .option('--flow <name>', 'the id in parts: {date}-{flow}-{identifier}[-{suffix}]')
    .option('--identifier <word>', 'what the run works on; no dashes')
    .option('--suffix <word>', 'tells runs of one day apart; no dashes')
    .option('--date <YYYY-MM-DD>', 'default: today in UTC')
    .option('--next-suffix', 'if the run exists, take the next free suffix: 2, 3, …')
    .option('--flow-id <id>', 'default: the flow')
    .option('--node-id <id>', 'node of the flow')
    .option('--input <json>', 'what the run was given, a JSON object')
    .addOption(new Option('--resume', 'take up a run that has not ended; needs --run-id').conflicts(ofNew))
    .action(async (options) => (await import('./record/run.ts')).recordRun(options))
  addSettings(
    run,
    SETTINGS_OF_ALL,
  ).notes(`Lines: {"type":"turn","role":…,"content":…}, optionally tokens, durationMs;
       role is system, user, assistant or tool_result
       {"type":"tool_call","name":…,"input":{…}}, optionally output, id, error
       {"type":"cost","usd":0.12}
       last {"type":"complete"}, {"type":"fail","error":…} or {"type":"cancel"}
Input that ends without an end leaves the run running, to be resumed.

Example:
  $ printf '%s\\n' '{"type":"turn","role":"user","content":"fix it"}' \\
      '{"type":"complete"}' |
      recollect record run --base .devflow --flow ticket-to-pr \\
      --identifier TK421
  {"ok":true,"line":0,"runId":"2025-01-15-ticket-to-pr-TK421","directory":"…"}
  {"ok":true,"line":1,"turnId":1}
  {"ok":true,"line":2,"status":"completed","path":"…/transcript.json"}
${RULES}`)
}

function addLineage(record: OurCommand): void {
  const lineage = record
    .command('lineage')
    .description('which session came from which: session_history.jsonl and sessions.json in <dir>')
    .requiredOption('--dir <dir>', 'directory of both files')
    .option('--current-file <name>', 'file with the current session id (default: sessions.json)')
    .option('--history-file <name>', 'the log (default: session_history.jsonl)')
    .option('--git', 'commit the log after each event')
    .action(async (options) => (await import('./record/lineage.ts')).recordLineage(options))
  addSettings(
    lineage,
    LOCKED_SETTINGS,
  ).notes(`Lines: {"op":"save","session_id":…}   logs created, compacted or nothing
       {"op":"swap","session_id":…}   a fork becomes the main session
       {"op":"clear"}                 the main session ends
       {"op":"interactive_fork"|"bg_fork","session_id":…},
       optionally parent_session_id
The answer holds the event that was written, or "event":null.

Example:
  $ echo '{"op":"save","session_id":"a1"}' |
      recollect record lineage --dir ~/.bot
  {"ok":true,"line":1,"event":"created","session_id":"a1",…}
${RULES}`)
}
