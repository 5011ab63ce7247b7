// Opens Tier 2 alone around a piece of work: what was distilled answers without a cache.
import { Config } from '../config.ts'
import type { Reader } from '../store/reader/index.ts'
import { openMemory, type StorePaths, storePaths } from '../store/reading.ts'

export function withDigests<T>(work: (handle: Reader, paths: StorePaths) => T): T {
  const config = new Config()
  const paths = storePaths(config.home, config.get('store.db_path'))
  const handle = openMemory(paths)
  try {
    return work(handle, paths)
  } finally {
    handle.close()
  }
}
