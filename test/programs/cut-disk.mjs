// A file system in an image that can be stopped as a power cut would stop it: `cut` shuts it down without flushing its log
// (`xfs_io -x -c shutdown`), so that what was never flushed is gone when it is mounted again. This stops the file system,
// not a disk's own cache: a disk that lies about flushes is not covered.
// Needs root, e2fsprogs, xfsprogs, util-linux, and a private mount namespace (`unshare -m --propagation private`): another
// one would keep the old file system alive over the cut, and with it what was never flushed.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const run = (command, ...args) => execFileSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })

const MAKE = { ext4: ['mkfs.ext4', '-q', '-F'], xfs: ['mkfs.xfs', '-q', '-f'] }

export class CutDisk {
  #image
  #type

  constructor(directory, type = 'ext4') {
    this.#image = join(directory, `image-${type}`)
    this.#type = type
    this.path = join(directory, `mnt-${type}`)
    mkdirSync(this.path)
  }

  /** An empty file system, mounted. */
  make() {
    this.#leave()
    // The size is what xfs asks for; only what is written takes room.
    rmSync(this.#image, { force: true })
    run('truncate', '-s', '512M', this.#image)
    run(...MAKE[this.#type], this.#image)
    this.mount()
  }

  mount() {
    run('mount', '-o', 'loop', this.#image, this.path)
  }

  unmount() {
    run('umount', this.path)
  }

  /** Whoever has files open there still has to be ended before `remount`. */
  cut() {
    run('xfs_io', '-x', '-c', 'shutdown', this.path)
  }

  /** What the log of the file system makes of it. */
  remount() {
    this.unmount()
    this.mount()
  }

  remove() {
    this.#leave()
    rmSync(this.#image, { force: true })
  }

  /** Also where somebody failed half-way, with files open. */
  #leave() {
    spawnSync('umount', ['-l', this.path], { stdio: 'ignore' })
  }
}
