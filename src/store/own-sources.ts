// Which files a session has, as questions to the cache. Apart from what writes: questions are to load fast.

/** Whether every file that spoke of a session is gone. */
export const IS_GONE = `SELECT count(*) > 0 AND count(s.missing_at) = count(*) AS gone
  FROM source_sessions w JOIN sources s ON s.path = w.path WHERE w.session = ?`

/** A session's files that are there, each once; where all are gone, those that went last. One that was copied elsewhere or compressed is not two. */
export const OWN_SOURCES = `SELECT path, max(size) AS size FROM sources WHERE session_uid = ?1
  AND missing_at IS (SELECT iif(count(*) > count(missing_at), NULL, max(missing_at)) FROM sources WHERE session_uid = ?1)
  GROUP BY device, inode, born_at`
export const SOURCE_BYTES = `SELECT coalesce(sum(size), 0) AS size FROM (${OWN_SOURCES})`
