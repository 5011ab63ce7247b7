// Whether recall tells what mended a failure, and only that: every failure of some memories is asked as it was printed, of the
// sessions that had ended before it. A mend counts as right where the session later did the same itself: edited the same file,
// or ran the same program. Failures that no other session met must get nothing. Counts only, unless --show: the text may be
// strangers'.
//   npm run bench:retrieval -- --memory DIR, then: npm run bench:recall -- DIR [--show]
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { listSessions, openMemory, recall, sessionEvents, storePaths } from '../dist/index.js'

const [directory] = process.argv.slice(2)
const shows = process.argv.includes('--show')
const memories = readdirSync(directory).filter((name) => name.endsWith('-memory'))

/** Texts of a body stand in its record, and are pointed to. */
function textAt(text, raw) {
  if (typeof text === 'string') return text
  if (Array.isArray(text)) return text.map((one) => textAt(one, raw)).join('\n')
  const value = text?.$?.reduce((at, step) => at?.[step], raw)
  return typeof value === 'string' ? value.slice(text.from, text.to) : ''
}

/** What the call printed, as a hook would be told it. */
function printed(handle, { session_uid: uid, seqs, sample }) {
  const [seq] = JSON.parse(seqs).slice(-1)
  const [event] = sessionEvents(handle, uid, { seqs: [seq] })
  const stored = event?.payload_ref && handle.payload(event.payload_ref)
  if (!stored) return sample
  const [told, raw] = stored.split('\n').map((line) => JSON.parse(line || '{}'))
  return textAt(told.said, raw).slice(0, 20_000) || sample
}

const nameOf = (path) => path.split(/[\s/]/).at(-1)
/** The program that a command runs, wherever it is run. */
const programOf = (command) =>
  nameOf(/^(?:cd\s+\S+\s*(?:&&|;)\s*|\$\w+\s*=\s*|sudo\s+)*([\w./-]+|\S+)/.exec(command)?.[1] ?? command)
const deedOf = ({ what }) => (what.startsWith('edit ') ? `edit ${nameOf(what)}` : programOf(what))
const doesAlike = (steps, own) => steps.some((one) => own.some((other) => deedOf(one) === deedOf(other)))

const count = {}
const add = (what) => {
  count[what] = (count[what] ?? 0) + 1
}

for (const name of memories) {
  const handle = openMemory(storePaths(join(directory, name)))
  const sessions = listSessions(handle, { withSubagents: true })
  const startOf = new Map(sessions.map((one) => [one.session_uid, Date.parse(one.started_at ?? '') || 0]))
  const endOf = new Map(sessions.map((one) => [one.session_uid, Date.parse(one.ended_at ?? '') || 0]))
  const roots = handle.lineage.roots([...startOf.keys()])
  const rootOf = (uid) => roots.get(uid) ?? uid
  const all = handle.digests.failures({
    sinceAt: Number.MIN_SAFE_INTEGER,
    untilAt: Number.MAX_SAFE_INTEGER,
    filter: { withSubagents: true },
  })
  for (const one of all) {
    const root = rootOf(one.session_uid)
    const own = new Set([...startOf.keys()].filter((uid) => rootOf(uid) === root))
    const startedAt = startOf.get(one.session_uid) ?? 0
    const later = [...endOf].filter(([, at]) => at >= startedAt).map(([uid]) => uid)
    const others = all.filter((row) => row.fingerprint === one.fingerprint && !own.has(row.session_uid))
    const earlier = others.filter((row) => !later.includes(row.session_uid))
    const text = printed(handle, one)
    const found = await recall(handle, text, {
      onlyMends: true,
      ...(one.repo === null ? {} : { repos: [one.repo] }),
      notShown: new Set(others.length === 0 ? own : [...own, ...later]),
    })
    const wasMended = earlier.some((row) => row.resolved_by !== null)
    const kind = others.length === 0 ? 'met once' : wasMended ? 'mended before' : 'not mended before'
    add(kind)
    if (found.kind === null) add(`${kind}: silent`)
    else if (one.resolved_by === null) add(`${kind}: told, never overcome here`)
    else {
      const mine = JSON.parse(one.resolved_by).steps
      const right = found.items.some((item) => doesAlike(item.steps, mine))
      add(`${kind}: told, ${right ? 'and so it was mended' : 'mended otherwise'}`)
    }
    if (shows && (found.kind !== null || wasMended))
      console.log(
        JSON.stringify({
          kind,
          asked: one.sample,
          repo: one.repo,
          told: found.items.map(({ what, repo, steps }) => ({ what, repo, steps: steps.map((s) => s.what) })),
          mine: one.resolved_by && JSON.parse(one.resolved_by).steps.map((s) => s.what),
        }),
      )
  }
  // What another memory met has nothing to do with this one.
  for (const other of memories.filter((one) => one !== name)) {
    const theirs = openMemory(storePaths(join(directory, other)))
    const met = theirs.digests.failures({
      sinceAt: Number.MIN_SAFE_INTEGER,
      untilAt: Number.MAX_SAFE_INTEGER,
      filter: { withSubagents: true },
    })
    const known = new Set(all.map((one) => one.fingerprint))
    for (const one of met.filter((row) => !known.has(row.fingerprint))) {
      const asked = printed(theirs, one)
      add('of another memory')
      const { kind } = await recall(handle, asked)
      add(
        `of another memory: ${kind === null ? 'silent' : `told of ${kind === 'task' ? 'a task' : 'a mend'}`}`,
      )
      if (shows && kind !== null) console.log(JSON.stringify({ another: kind, asked: asked.slice(0, 300) }))
    }
    theirs.close()
  }
  handle.close()
}
for (const [what, times] of Object.entries(count).sort(([a], [b]) => (a < b ? -1 : 1)))
  console.log(`${what.padEnd(52)} ${String(times).padStart(5)}`)
