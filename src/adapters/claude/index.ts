// Claude Code, 1.0 to 2.1.325. README.md beside this file describes the format and the decisions.
import type { Adapter } from '../adapter.ts'
import { read } from './parse.ts'
import { claim, FLAVOR, roots, treeOwner } from './paths.ts'

export const claude: Adapter = { flavor: FLAVOR, version: 12, roots, claim, treeOwner, read }
