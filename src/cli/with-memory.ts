// Opens the memory for reading around a piece of work.
import { Config } from '../config.ts'
import { openForReading, storePaths, unanswered } from '../store/reading.ts'
import type { ReadHandle } from '../store/store.ts'

export async function withMemory<T>(
  work: (handle: ReadHandle, config: Config) => T | Promise<T>,
): Promise<T> {
  const config = new Config()
  const paths = storePaths(config.home, config.get('store.db_path'))
  const handle = openForReading(paths)
  try {
    return await work(handle, config)
  } catch (error) {
    throw unanswered(error, paths)
  } finally {
    handle.close()
  }
}
