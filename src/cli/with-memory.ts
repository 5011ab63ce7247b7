// Opens the memory for reading around a piece of work.
import { Config } from '../config.ts'
import { openForReading, storePaths } from '../store/reading.ts'
import type { ReadHandle } from '../store/store.ts'

export async function withMemory<T>(
  work: (handle: ReadHandle, config: Config) => T | Promise<T>,
): Promise<T> {
  const config = new Config()
  const handle = openForReading(storePaths(config.home, config.get('store.db_path')))
  try {
    return await work(handle, config)
  } finally {
    handle.close()
  }
}
