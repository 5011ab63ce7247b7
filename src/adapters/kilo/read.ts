import type { Read } from '../adapter.ts'
import { readFork } from '../opencode/read.ts'

export const read: Read = ({ path }, from) => readFork('kilo', path, from)
