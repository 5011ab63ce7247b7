// A file system that can be cut off (see cut-disk.mjs).
export class CutDisk {
  readonly path: string
  constructor(directory: string, type?: 'ext4' | 'xfs')
  make(): void
  mount(): void
  unmount(): void
  cut(): void
  remount(): void
  remove(): void
}
