// Declares the commands that keep the memory up to date by themselves.
import type { OurCommand } from './command.ts'

export function addWatchCommands(program: OurCommand): void {
  program
    .command('watch')
    .description('sweep whatever agents write, soon after they wrote it, until stopped')
    .option('--json', 'one JSON object per line and event')
    .notes(`Idle, it costs nothing. Where the system's limit of watches is reached it says
so and sweeps everything every 5 minutes besides. docs/capture.md tells more.

Exit code: 130 or 143 by the signal that ended it, 5 another watcher is running.`)
    .action(async (options) => (await import('./watch.ts')).runWatch(options))
    .examples('recollect watch', ['recollect watch --json', 'for a program that reads along'])
  addScheduleCommands(program)
}

function addScheduleCommands(program: OurCommand): void {
  const schedule = program
    .command('schedule')
    .description('let the system run a sweep from time to time: systemd, launchd or cron')

  schedule
    .command('install')
    .description('a systemd user timer, a launchd agent, or a line in the crontab')
    .option('--every <time>', '15m, hourly, daily or weekly (default: the setting cadence)')
    .option('--with <scheduler>', 'systemd, launchd or cron (default: what is here)')
    .option('--dry-run', 'show what would be written and run; change nothing')
    .option('--json', 'one JSON document')
    .action(async (options) => (await import('./schedule.ts')).installSchedule(options))
    .examples('recollect schedule install --dry-run', 'recollect schedule install --every hourly')

  schedule
    .command('remove')
    .alias('uninstall')
    .description('take it out again, wherever it stands (also: uninstall)')
    .option('--with <scheduler>', 'only this one')
    .option('--dry-run', 'show what would be removed; change nothing')
    .option('--json', 'one JSON document')
    .action(async (options) => (await import('./schedule.ts')).removeSchedule(options))
    .examples('recollect schedule remove')

  schedule
    .command('status')
    .description('what is installed, and when everything was last looked at')
    .option('--json', 'one JSON document')
    .action(async (options) => (await import('./schedule.ts')).showSchedule(options))
    .examples('recollect schedule status')
}
