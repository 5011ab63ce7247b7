// What each file told of a session as a whole. Where several files tell one session, the one that goes on longest holds,
// whichever was read first: a session that went on in another directory is in that one.

import type { PreparedFacts } from './batch.ts'
import type { Database, Statement } from './database.ts'

interface ToldFacts {
  /** Kept for a session that was taken for a copy (`fork-start.ts`). */
  startedAt?: number
  cwd?: string
  gitBranch?: string
  gitRemote?: string
  model?: string
  agentVersion?: string
  /** Made up by a model; what a person calls it comes from more places than these. */
  title?: string
  /** The first of the best rank that the file told. */
  taskRef?: string
  taskRank?: number
}

const FIELDS = ['cwd', 'gitBranch', 'gitRemote', 'model', 'agentVersion'] as const
const KEPT = [...FIELDS, 'startedAt'] as const

/** Notes what a file tells, behind its events. */
export class FactsTold {
  readonly #note: Statement
  readonly #task: Statement

  constructor(cache: Database) {
    this.#note = cache.prepare(
      'UPDATE source_sessions SET facts = json_patch(facts, ?) WHERE path = ? AND session = ?',
    )
    this.#task = cache.prepare(
      `UPDATE source_sessions SET facts = json_set(facts, '$.taskRef', ?1, '$.taskRank', ?2)
       WHERE path = ?3 AND session = ?4 AND coalesce(facts ->> '$.taskRank', 0) < ?2`,
    )
  }

  note(path: string, session: number, facts: PreparedFacts): void {
    if (facts.isGuess) return
    const told = Object.fromEntries(KEPT.flatMap((name) => (facts[name] ? [[name, facts[name]]] : [])))
    if (facts.title && !facts.titleByPerson) told['title'] = facts.title
    if (Object.keys(told).length > 0) this.#note.run(JSON.stringify(told), path, session)
    if (facts.taskRef !== undefined) this.#task.run(facts.taskRef, facts.taskRefRank ?? 0, path, session)
  }
}

/** Puts together what the files of a session told, where that were several. */
export function mergingFacts(cache: Database, memory: Database): (session: number, uid: string) => void {
  const read = cache.prepare(
    `SELECT w.path, w.facts, s.missing_at AS missingAt FROM source_sessions w JOIN sources s ON s.path = w.path
     WHERE w.session = ? AND w.facts <> '{}' ORDER BY w.last_at, w.path`,
  )
  const save = memory.prepare(
    `UPDATE sessions SET cwd = coalesce(:cwd, cwd), git_branch = coalesce(:gitBranch, git_branch),
     git_remote = coalesce(:gitRemote, git_remote), model = coalesce(:model, model),
     agent_version = coalesce(:agentVersion, agent_version),
     title = iif(title_by_person, title, coalesce(:title, title)), source_path = coalesce(:path, source_path),
     task_ref = iif(:taskRank >= task_ref_rank, coalesce(:taskRef, task_ref), task_ref) WHERE session_uid = :uid`,
  )
  return (session, uid) => {
    const files = read.all(session) as unknown as { path: string; facts: string; missingAt: number | null }[]
    if (files.length < 2) return
    const told = files.map(({ facts }) => JSON.parse(facts) as ToldFacts)
    const facts = Object.assign({}, ...told) as ToldFacts
    const task = told.reduce((best, one) => ((one.taskRank ?? 0) >= (best.taskRank ?? 0) ? one : best))
    save.run({
      ...Object.fromEntries(FIELDS.map((name) => [name, facts[name] ?? null])),
      title: facts.title ?? null,
      path: files.findLast(({ missingAt }) => missingAt === null)?.path ?? null,
      taskRef: task.taskRef ?? null,
      taskRank: task.taskRank ?? 0,
      uid,
    })
  }
}
