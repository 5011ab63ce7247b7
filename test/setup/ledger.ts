// Fills the ledger by hand, for questions about usage that no real session answers.
import type { Database } from '../../src/store/database.ts'

export interface Response {
  session?: string
  at: number | string | null
  model?: string | null
  input?: number
  cacheRead?: number
  cacheWrite5m?: number
  cacheWrite1h?: number
  output?: number
  reasoning?: number
  scope?: 'response' | 'turn'
  isNested?: boolean
  isCounted?: boolean
  reportedCost?: number
}

export const timeOf = (at: Response['at']): number | null => (typeof at === 'string' ? Date.parse(at) : at)

export function fill(memory: Database, responses: readonly Response[]): void {
  const session = memory.prepare(
    `INSERT INTO sessions (session_uid, flavor, native_session_id, repo, domain, schema_version, discovered_at)
     VALUES (?, ?, ?, ?, ?, 1, 0) ON CONFLICT DO NOTHING`,
  )
  // The view in the other direction, for as long as this is filled.
  memory.exec(`CREATE TEMP TRIGGER IF NOT EXISTS fill_ledger INSTEAD OF INSERT ON usage BEGIN
    INSERT OR IGNORE INTO ledger_sessions (session_uid) VALUES (NEW.session_uid);
    INSERT OR IGNORE INTO ledger_models (model) SELECT NEW.model WHERE NEW.model IS NOT NULL;
    INSERT INTO ledger SELECT number, NEW.response_id, NEW.ts, (SELECT number FROM ledger_models WHERE model = NEW.model),
      NEW.input, NEW.cache_read, NEW.cache_write_5m, NEW.cache_write_1h, NEW.output, NEW.reasoning, NEW.scope = 'turn',
      NEW.is_sidechain, NEW.is_nested, NEW.reported_cost, NEW.is_counted, NEW.responses
    FROM ledger_sessions WHERE session_uid = NEW.session_uid; END`)
  const insert = memory.prepare(`INSERT INTO usage VALUES (${Array(16).fill('?').join(', ')})`)
  for (const [i, one] of responses.entries()) {
    const uid = one.session ?? 'a:1'
    const [flavor = '', id = ''] = uid.split(':')
    session.run(uid, flavor, id, `repo-${flavor}`, flavor === 'a' ? 'home' : null)
    const { input = 0, cacheRead = 0, cacheWrite5m = 0, cacheWrite1h = 0, output = 0, reasoning = 0 } = one
    insert.run(
      uid,
      `r${i}`,
      timeOf(one.at),
      one.model === undefined ? 'o3' : one.model,
      input,
      cacheRead,
      cacheWrite5m,
      cacheWrite1h,
      output,
      reasoning,
      one.scope ?? 'response',
      0,
      one.isNested ? 1 : 0,
      one.reportedCost ?? null,
      one.isCounted === false ? 0 : 1,
      1,
    )
    memory.prepare('INSERT OR IGNORE INTO stale_slots VALUES (?)').run(uid)
  }
}
