// Tier 2 rows of a batch: session facts, the usage ledger and lineage edges. Every statement is an upsert, because a
// kill between the two commits makes the same batch come again.
import { SCHEMA_VERSION } from '../model.ts'
import type { Batch, PreparedFacts, PreparedSupersede } from './batch.ts'
import type { Database, Statement } from './database.ts'
import { CONCLUDED } from './forks.ts'
import { Ledger } from './ledger.ts'
import { Limits } from './limits.ts'
import { Titles } from './titles.ts'

/** The time a batch's events span in one session. Only minima and maxima may be kept here: they can come again. */
export interface Span {
  firstAt: number | null
  lastAt: number | null
}

/** Where a session's own part begins is found by comparing it (`fork-start.ts`); the first thing of its own replaces what stood for it. */
const earliest = (at: string): string =>
  `CASE WHEN ${at} IS NULL OR own_at > 0 THEN started_at WHEN own_at = 0 THEN ${at} ELSE min(coalesce(started_at, ${at}), ${at}) END`
const ownAt = (at: string): string => `iif(own_at = 0 AND ${at} IS NOT NULL, NULL, own_at)`

export class MemoryWriter {
  /** The machine that new sessions are from. */
  host = ''
  readonly #memory: Database
  readonly #ensure: Statement
  readonly #facts: Statement
  readonly #guess: Statement
  readonly #span: Statement
  readonly #ledger: Ledger
  readonly #limits: Limits
  readonly #edge: Statement
  readonly #repeated: Statement
  readonly #titles: Titles

  constructor(memory: Database) {
    this.#memory = memory
    this.#ensure = memory.prepare(
      `INSERT INTO sessions (session_uid, flavor, native_session_id, schema_version, discovered_at, host) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT DO NOTHING`,
    )
    // A title given by a person is only replaced by another one.
    this.#facts = memory.prepare(
      `UPDATE sessions SET cwd = coalesce(:cwd, cwd), git_branch = coalesce(:branch, git_branch),
       git_remote = coalesce(:remote, git_remote), model = coalesce(:model, model),
       title = CASE WHEN :title IS NULL OR (title_by_person AND NOT :byPerson) THEN title ELSE :title END,
       title_by_person = max(title_by_person, CASE WHEN :title IS NULL THEN 0 ELSE :byPerson END),
       agent_version = coalesce(:version, agent_version), relation = coalesce(:relation, relation),
       is_background = max(is_background, :isBackground), told_outcome = coalesce(:outcome, told_outcome),
       ended_at = coalesce(:onlyAt, ended_at),
       started_at = CASE WHEN :onlyAt IS NOT NULL THEN :onlyAt ELSE ${earliest(':startedAt')} END, own_at = ${ownAt(':startedAt')},
       task_ref = CASE WHEN :taskRank > task_ref_rank THEN :taskRef ELSE task_ref END,
       task_ref_rank = max(task_ref_rank, :taskRank), source_path = coalesce(:path, source_path)
       WHERE session_uid = :uid`,
    )
    this.#guess = memory.prepare(
      `UPDATE sessions SET cwd = coalesce(cwd, :cwd), git_branch = coalesce(git_branch, :branch),
       git_remote = coalesce(git_remote, :remote), model = coalesce(model, :model),
       agent_version = coalesce(agent_version, :version),
       started_at = coalesce(min(started_at, :startedAt), started_at, :startedAt) WHERE session_uid = :uid`,
    )
    this.#span = memory.prepare(
      `UPDATE sessions SET started_at = ${earliest(':firstAt')}, own_at = ${ownAt(':firstAt')},
       ended_at = CASE WHEN :lastAt IS NULL THEN ended_at ELSE max(coalesce(ended_at, :lastAt), :lastAt) END
       WHERE session_uid = :uid`,
    )
    this.#ledger = new Ledger(memory)
    this.#limits = new Limits(memory)
    this.#titles = new Titles(memory)
    this.#repeated = memory.prepare(
      `INSERT OR IGNORE INTO repeated SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS (SELECT 1 FROM kept_keys k, json_each(k.not_own) j
       WHERE k.session_uid = ?1 AND ?2 BETWEEN j.value ->> 0 AND j.value ->> 1)`,
    )
    // What a source tells stands above what was concluded before it did.
    this.#edge = memory.prepare(
      `INSERT INTO edges (session_uid, kind, parent_uid, at, evidence) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET at = coalesce(min(at, excluded.at), at, excluded.at),
       evidence = CASE WHEN evidence IN ${CONCLUDED} THEN excluded.evidence
         ELSE coalesce(min(evidence, excluded.evidence), evidence, excluded.evidence) END`,
    )
  }

  begin(): void {
    this.#memory.exec('BEGIN IMMEDIATE')
  }

  write(batch: Batch): void {
    const now = Date.now()
    const flavor = batch.cursor.flavor
    const known = new Set<string>()
    let last = ''
    const ensure = (uid: string): void => {
      // Most often the one before.
      if (uid === last || known.has(uid)) return
      last = uid
      known.add(uid)
      this.#ensure.run(uid, flavor, uid.slice(flavor.length + 1), SCHEMA_VERSION, now, this.host)
    }
    for (const event of batch.events) ensure(event.sessionUid)
    for (const facts of batch.facts) {
      ensure(facts.sessionUid)
      this.#writeFacts(facts, batch.cursor.path)
    }
    this.#titles.write(batch.titles)
    for (const usage of batch.usage) ensure(usage.sessionUid)
    this.#ledger.write(batch.usage, batch.start)
    for (const limit of batch.limits) ensure(limit.sessionUid)
    this.#limits.write(batch.limits)
    for (const edge of batch.edges) {
      ensure(edge.sessionUid)
      this.#edge.run(edge.sessionUid, edge.kind, edge.parentUid ?? '', edge.at, edge.evidence)
    }
  }

  /** An event that counted until it was evicted, and counts nowhere: the digest it is frozen in has to be told. */
  noteRepeated(
    { sessionUid, isRepetition, toldAs }: PreparedSupersede,
    seq: number,
    evictedSeq: number,
  ): void {
    if (isRepetition && toldAs !== null) this.#repeated.run(sessionUid, seq, evictedSeq, toldAs)
  }

  commit(spans: ReadonlyMap<string, Span>): void {
    for (const [uid, span] of spans) this.#span.run({ uid, firstAt: span.firstAt, lastAt: span.lastAt })
    this.#memory.exec('COMMIT')
    this.#ledger.end()
  }

  rollBack(): void {
    if (this.#memory.isTransaction) this.#memory.exec('ROLLBACK')
    this.forget()
  }

  /** Rows were changed behind our back. */
  forget(): void {
    this.#ledger.forget()
  }

  #writeFacts(facts: PreparedFacts, path: string): void {
    if (facts.isGuess) {
      this.#guess.run({
        uid: facts.sessionUid,
        cwd: facts.cwd ?? null,
        branch: facts.gitBranch ?? null,
        remote: facts.gitRemote ?? null,
        model: facts.model ?? null,
        version: facts.agentVersion ?? null,
        startedAt: facts.startedAt ?? null,
      })
      return
    }
    this.#facts.run({
      uid: facts.sessionUid,
      cwd: facts.cwd ?? null,
      branch: facts.gitBranch ?? null,
      remote: facts.gitRemote ?? null,
      model: facts.model ?? null,
      title: facts.title ?? null,
      byPerson: facts.titleByPerson ? 1 : 0,
      version: facts.agentVersion ?? null,
      relation: facts.relation ?? null,
      isBackground: facts.isBackground ? 1 : 0,
      outcome: facts.outcome ?? null,
      startedAt: facts.startedAt ?? null,
      onlyAt: facts.onlyAt ?? null,
      taskRef: facts.taskRef ?? null,
      taskRank: facts.taskRefRank ?? 0,
      // A task is named in any of the session's files.
      path: facts.taskRef === undefined ? path : null,
    })
  }
}
