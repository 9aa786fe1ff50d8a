// A filesystem of a few megabytes that a test can fill. Mounting needs root.
import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, rmdirSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { scratchFor } from '../../kit/scratch.ts'

/** The reason to skip tests of a small disk, or false. */
export const noSmallDisk =
  process.platform === 'linux' && process.getuid?.() === 0
    ? false
    : 'only root on Linux can mount a small disk'

export interface SmallDisk {
  readonly dir: string
  fill(): void
  free(): void
}

/** Mounts an overlay, like containers do, since a store refuses a bare tmpfs. */
export function smallDisk(t: Pick<Test, 'teardown'>, megabytes: number): SmallDisk {
  const base = scratchFor(import.meta.dirname, '.disk-') // tap removes a testdir before it is unmounted
  t.teardown(() => rmdirSync(base))
  const [lower, upper, work, dir] = ['lower', 'upper', 'work', 'dir'].map(name => join(base, name))
  mount('tmpfs', base, `size=${megabytes}m`)
  for (const path of [lower, upper, work, dir]) mkdirSync(String(path))
  mount('overlay', String(dir), `lowerdir=${lower},upperdir=${upper},workdir=${work}`)
  const ballast = join(base, 'ballast')
  return {
    dir: String(dir),
    fill() {
      const fd = openSync(ballast, 'a')
      try {
        for (const size of [65_536, 4096]) writeUntilFull(fd, Buffer.alloc(size))
      } finally {
        closeSync(fd)
      }
    },
    free: () => rmSync(ballast)
  }

  function mount(type: string, at: string, options: string): void {
    execFileSync('mount', ['-t', type, '-o', options, type, at])
    t.teardown(() => void execFileSync('umount', ['--lazy', at]))
  }
}

function writeUntilFull(fd: number, block: Buffer): void {
  try {
    for (;;) writeSync(fd, block)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error // thrown by writeSync
  }
}
