// Takes the lock of a file as a writer does, says so, and keeps it until it is ended. Argument: the path.
import { openSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'

const { tryLock } = createRequire(import.meta.url)('fs-native-extensions')
const fd = openSync(process.argv[2], 'a+', 0o600)
writeSync(1, tryLock(fd) ? 'held\n' : 'busy\n')
setInterval(() => {}, 60_000)
