import type { Read } from '../adapter.ts'
import { readDatabase } from '../kit/index.ts'
import { reader } from '../opencode/read.ts'

export const read: Read = ({ path }, from) => readDatabase(path, from, reader('kilo'))
