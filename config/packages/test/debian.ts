// A small Debian for package installations. It needs root.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { root, run } from '../run.ts'

/** The reason why it cannot run here, or false. */
export const noDebian =
  process.getuid?.() !== 0
    ? 'only root may make a chroot'
    : spawnSync('debootstrap', ['--version']).error
      ? 'debootstrap is not installed'
      : false

export interface Debian {
  readonly dir: string
  /** Command prefix that runs a command inside. */
  readonly prefix: readonly string[]
  inside(...command: readonly string[]): string
}

/** Uses a mount namespace, so that the mount of /proc ends with the command and is never in a folder of the test. */
const enter = ['unshare', '--mount', 'sh', '-c', 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"']
const clean = ['PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'DEBIAN_FRONTEND=noninteractive', 'LC_ALL=C']

/** Returns a copy of a Debian without systemd, deleted after the test. */
export function debian(t: Test): Debian {
  const dir = unpacked(t, 'debian', 'ca-certificates,curl,libstdc++6,systemd-standalone-sysusers')
  return hostIn(dir, [...enter, dir])
}

export const hostIn = (dir: string, prefix: readonly string[]): Debian => ({
  dir,
  prefix,
  inside: (...command) => run('env', ['-i', ...clean, ...prefix, ...command])
})

/** Returns the folder of a copy, deleted after the test, of a Debian that is built once. */
export function unpacked(t: Test, name: string, packages: string): string {
  const base = join(root, 'node_modules/.cache/sluice-packages', name)
  if (!existsSync(base)) {
    const partial = `${base}.partial`
    run('rm', ['-rf', partial])
    mkdirSync(partial, { recursive: true })
    const args = ['--variant=minbase', `--include=${packages}`, 'bookworm', partial]
    run('debootstrap', [...args, 'http://deb.debian.org/debian'])
    run('mv', [partial, base])
  }
  const dir = join(t.testdir({}), name)
  run('cp', ['-a', base, dir])
  return dir
}
