// Makes one call on a session history: lineage-call.mjs <directory> <method> [argument...]. Printed: the event or null.
import { SessionHistory } from 'recollect/record'

const [directory, method, ...args] = process.argv.slice(2)
const event = await new SessionHistory(directory)[method](...args)
process.stdout.write(JSON.stringify(event ?? null))
