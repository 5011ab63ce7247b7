// Node's own modules that take milliseconds to load, loaded at first use: a program that imports us to append one line
// should not pay for compression, hashing or child processes. Loading again is a lookup.

export const childProcess = () => process.getBuiltinModule('node:child_process')
export const crypto = () => process.getBuiltinModule('node:crypto')
export const zlib = () => process.getBuiltinModule('node:zlib')
