// Five machines that pushed all they have to a team server, and one memory that has read the same files.
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect } from 'vitest'
import { Config } from '../../src/config.ts'
import { push } from '../../src/fleet/push/index.ts'
import { TestServer } from './fleet.ts'
import { Cluster } from './postgres.ts'
import { World } from './sweeping.ts'

export const PEOPLE = 5
export const TEAM = 'same'

/** The samples as somebody else had them: other sessions, responses and calls, all else the same. */
function copySamples(home: string, person: number): void {
  const theirs = (text: string): string =>
    text
      .replace(/\b([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{11})[0-9a-f]\b/g, `$1${person}`)
      .replace(/\b((?:msg|req|resp|toolu|call)_[A-Za-z0-9]{4,})/g, `$1p${person}`)
  for (const entry of readdirSync('samples', { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const to = join(home, theirs(relative('samples', path)))
    mkdirSync(dirname(to), { recursive: true })
    writeFileSync(to, theirs(readFileSync(path, 'utf8')))
  }
}

type Options = Parameters<typeof TestServer.start>[1]

export class BothEngines {
  readonly cluster: Cluster
  readonly server: TestServer
  /** Of a lead. */
  readonly token: string
  /** The memory that holds all of it. */
  readonly all = new World()
  readonly #worlds: World[] = []

  private constructor(cluster: Cluster, server: TestServer, token: string) {
    this.cluster = cluster
    this.server = server
    this.token = token
  }

  static async start(options: Options = {}): Promise<BothEngines> {
    const cluster = await Cluster.start('fsync = off\n')
    const server = await TestServer.start(cluster.url, options)
    const both = new BothEngines(cluster, server, await server.token(TEAM, 'p0', 'lead'))
    for (let person = 0; person < PEOPLE; person++) await both.#push(person)
    delete process.env['RECOLLECT_PUSH_TOKEN']
    await both.all.sweep()
    return both
  }

  async #push(person: number): Promise<void> {
    const world = new World()
    this.#worlds.push(world)
    copySamples(world.home, person)
    cpSync(world.home, this.all.home, { recursive: true })
    await world.sweep()
    world.configure(`[push]\nurl = "${this.server.url}"\nlevel = "full"\n`)
    process.env['RECOLLECT_PUSH_TOKEN'] = await this.server.token(TEAM, `p${person}`)
    const report = await push(new Config({ env: world.env }))
    expect(report?.problems).toEqual([])
  }

  async stop(): Promise<void> {
    await this.server.close()
    this.cluster.stop()
    for (const world of [...this.#worlds, this.all]) world.remove()
  }
}
