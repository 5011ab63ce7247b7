// The public API of the package root.
export * from './record/index.ts'
