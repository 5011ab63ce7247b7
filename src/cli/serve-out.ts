// `recollect serve reader` and `recollect serve export`: what leaves a team server for dashboards and warehouses.
import { resolve } from 'node:path'
import { RecollectError } from '../errors.ts'
import { exportTeam } from '../fleet/parquet.ts'
import { setReader } from '../store/postgres/readers.ts'
import { plural } from './format.ts'
import { print, tell } from './print.ts'
import { nameOf, withFleet } from './serve.ts'
import { parseName, readTime } from './values.ts'

export async function runReader(login: string, options: { team?: string; remove?: boolean }): Promise<void> {
  const name = nameOf(login, 'login')
  if ((options.team === undefined) === !options.remove)
    throw new RecollectError('USAGE', 'either --team or --remove', {
      where: '--team',
      hint: 'recollect serve reader grafana --team shop',
    })
  const team = options.team === undefined ? null : nameOf(options.team, '--team')
  await withFleet((fleet) => setReader(fleet, name, team))
  print(team === null ? `${name} sees nothing` : `${name} sees the figures of ${team}`)
}

export async function runExport(options: {
  team: string
  dir: string
  since?: string
  until?: string
}): Promise<void> {
  const team = nameOf(options.team, '--team')
  const directory = resolve(parseName(options.dir, '--dir'))
  const since = options.since === undefined ? 0 : dayOf(readTime(options.since, '--since'))
  const until = options.until === undefined ? Date.now() + 86_400_000 : readTime(options.until, '--until')
  const files = await withFleet((fleet) => exportTeam(fleet, { team, directory, since, until }))
  for (const { path } of files) print(path)
  tell(
    `${plural(files.length, 'file')}, ${plural(
      files.reduce((sum, { rows }) => sum + rows, 0),
      'row',
    )}\n`,
  )
}

/** A file holds a whole day, so that the next export of it replaces no more than it holds. */
const dayOf = (at: number): number => Math.floor(at / 86_400_000) * 86_400_000
