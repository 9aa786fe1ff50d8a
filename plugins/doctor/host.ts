import { execFile } from 'node:child_process'
import { getServers } from 'node:dns'
import { readFileSync, realpathSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { findMount } from '../cli/exports.ts'

/** The machine to check. Tests replace it. */
export interface Host {
  /** Returns the text of a system file, such as /proc/sys/fs/pipe-max-size, or null if it is unreadable. */
  read(path: string): string | null
  /** Returns the standard output of a program, or null if it is missing or fails. */
  ask(program: string, ...args: readonly string[]): Promise<string | null>
  /** Returns the free space on the filesystem of an existing directory. */
  space(dir: string): Promise<Space>
  nameServers(): readonly string[]
}

interface Space {
  readonly bytes: number
  readonly files: number | null // free inodes; null: the filesystem does not count them
  readonly isReadOnly: boolean
}

const askMs = 10_000

export const thisHost: Host = {
  read(path) {
    try {
      return readFileSync(path, 'utf8')
    } catch {
      return null // missing on this system, or not readable by this user
    }
  },
  ask(program, ...args) {
    const { promise, resolve } = Promise.withResolvers<string | null>()
    execFile(program, args, { timeout: askMs }, (error, stdout) => resolve(error ? null : stdout))
    return promise
  },
  async space(dir) {
    const { bavail, bsize, files, ffree } = await statfs(dir)
    const { isReadOnly } = findMount(realpathSync(dir), thisHost.read('/proc/self/mountinfo') ?? '')
    return { bytes: bavail * bsize, files: files > 0 ? ffree : null, isReadOnly }
  },
  nameServers: getServers
}

/** Returns the number in a file that contains nothing else, or null. */
export function numberIn(host: Host, path: string): number | null {
  const text = host.read(path)?.trim() ?? ''
  return /^\d+$/.test(text) ? Number(text) : null
}
