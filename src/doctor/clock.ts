// When the clock was last believed, for whoever plans an eviction outside of a sweep.
import type { Config } from '../config.ts'
import { readSpoolState } from '../sources/spool.ts'

/** The begin of the last sweep whose clock was believed; 0: never. */
export const lastSweepAt = ({ home }: Config): number => readSpoolState(home).clockAt
