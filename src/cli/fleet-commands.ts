// Declares the commands of a fleet: pushing to a team server, and running one.
import type { OurCommand } from './command.ts'

export function addFleetCommands(program: OurCommand): void {
  program
    .command('push')
    .description('send sessions to a team server, as push.url and push.level say')
    .option('--level <level>', 'ledger, digest or full, instead of push.level')
    .option('--dry-run', 'print exactly what would leave, as JSON lines; send nothing')
    .notes(`Sweeps push by themselves where push.url is set; this does it now and waits.
What the server did not acknowledge is sent again. docs/fleet.md tells what
each level holds.`)
    .action(async (options) => (await import('./push.ts')).runPush(options))
    .examples(['recollect push --dry-run | less', 'what would leave'], 'recollect push')
  addServeCommands(program.command('serve').description('run a team server on PostgreSQL'))
}

function addServeCommands(serve: OurCommand): void {
  serve
    .command('start', { isDefault: true })
    .description('listen for machines that push, and people who ask')
    .option('--port <port>', 'listen here (7078)')
    .option('--host <address>', 'on this address (127.0.0.1: behind a proxy that does TLS)')
    .notes('DATABASE_URL names the database, serve.blobs the segments. docs/fleet.md.')
    .action(async (options) => (await import('./serve.ts')).runServe(options))
    .examples(['DATABASE_URL=postgres://… recollect serve', 'after recollect serve migrate'])

  serve
    .command('migrate')
    .description('bring the database to what this version needs')
    .option('--dry-run', 'print the statements; change nothing')
    .action(async (options) => (await import('./serve.ts')).runMigrate(options))
    .examples('recollect serve migrate --dry-run', 'recollect serve migrate')

  const token = serve.command('token').description('tokens of machines and people: create, list, revoke')
  token
    .command('create')
    .description('make a token, which is shown this once')
    .requiredOption('--team <team>', 'whose sessions it is about')
    .requiredOption('--person <name>', 'whose it is; a pseudonym will do')
    .option('--role <role>', 'device (pushes), viewer, lead, auditor or admin', 'device')
    .option('--expires <age>', 'good for so long, such as 90d')
    .action(async (options) => (await import('./serve.ts')).runTokenCreate(options))
    .examples('recollect serve token create --team shop --person p-17')
  token
    .command('list')
    .description('the tokens there are, without their secrets')
    .action(async () => (await import('./serve.ts')).runTokenList())
    .examples('recollect serve token list')
  token
    .command('revoke <id>')
    .description('make a token useless at once')
    .action(async (id) => (await import('./serve.ts')).runTokenRevoke(id))
    .examples('recollect serve token revoke 3')
  addUpkeep(serve)
}

function addUpkeep(serve: OurCommand): void {
  serve
    .command('person <name>')
    .description('print the line of a person for the file serve.people names')
    .requiredOption('--team <team>', 'whose figures they may see')
    .requiredOption('--role <role>', 'viewer, lead, auditor or admin')
    .notes('The password is read from RECOLLECT_PASSWORD.')
    .action(async (name, options) => (await import('./serve.ts')).runPerson(name, options))
    .examples('recollect serve person ada --team shop --role lead >> people')

  serve
    .command('team <name>')
    .description('how long a team keeps sessions, and whether a legal hold keeps all')
    .option('--keep-days <days>', 'so long after they ended; 0 for good')
    .option('--hold', 'nothing goes until --no-hold')
    .option('--no-hold', 'end the hold')
    .action(async (name, options) => (await import('./serve.ts')).runTeam(name, options))
    .examples('recollect serve team shop --keep-days 365')

  serve
    .command('reader <login>')
    .description('let a login of the database read the views of a team, and no table')
    .option('--team <team>', 'whose figures it sees')
    .option('--remove', 'it sees nothing any more')
    .notes('The login is made in the database: CREATE ROLE name LOGIN PASSWORD …')
    .action(async (login, options) => (await import('./serve-out.ts')).runReader(login, options))
    .examples('recollect serve reader grafana --team shop')

  serve
    .command('export')
    .description('ledger and digests of a team as Parquet files, one for each day (UTC)')
    .requiredOption('--team <team>', 'whose')
    .requiredOption('--dir <dir>', 'where to put them')
    .option('--since <time>', 'from this day on (1d: yesterday and today)')
    .option('--until <time>', 'up to this day, with the whole of it')
    .action(async (options) => (await import('./serve-out.ts')).runExport(options))
    .examples('recollect serve export --team shop --dir /srv/lake --since 7d')

  serve
    .command('retain')
    .description('remove what teams keep no longer, and segments that nobody names')
    .notes('To be run once a day, by cron or a timer.')
    .action(async () => (await import('./serve.ts')).runRetain())
    .examples('recollect serve retain')
}
