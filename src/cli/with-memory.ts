// Opens the memory for reading around a piece of work.
import { Config } from '../config.ts'
import type { Reader } from '../store/reader/index.ts'
import { openForReading, openMemory, type StorePaths, storePaths, unanswered } from '../store/reading.ts'
import { runningSweep } from '../store/sweep-lock.ts'
import { tell } from './print.ts'
import { sweepLine } from './sweep-line.ts'

export async function withMemory<T>(work: (handle: Reader, config: Config) => T | Promise<T>): Promise<T> {
  const config = new Config()
  const paths = storePaths(config.home, config.get('store.db_path'))
  const handle = openForReading(paths)
  try {
    const result = await work(handle, config)
    const line = sweepLine(runningSweep(config.home))
    if (line) tell(`${line}\n`)
    return result
  } catch (error) {
    throw unanswered(error, paths)
  } finally {
    handle.close()
  }
}

/** Opens only what outlives the events, for what is answered from that alone. */
export async function withTier2<T>(
  work: (handle: Reader, config: Config, paths: StorePaths) => T | Promise<T>,
): Promise<T> {
  const config = new Config()
  const paths = storePaths(config.home, config.get('store.db_path'))
  const handle = openMemory(paths)
  try {
    return await work(handle, config, paths)
  } finally {
    handle.close()
  }
}
