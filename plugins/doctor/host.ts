// Reads facts about the machine for checks.
import { execFile } from 'node:child_process'
import { getServers } from 'node:dns'
import { readFileSync, realpathSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { isMountedReadOnly } from './mounts.ts'

export interface Host {
  /** Returns the text of a file of the system, such as /proc/sys/fs/pipe-max-size; null where it cannot be read. */
  read(path: string): string | null
  /** Returns what a program prints; null where there is none, or it fails. */
  ask(program: string, ...args: readonly string[]): Promise<string | null>
  /** Returns what is left on the filesystem of a directory that exists. */
  space(dir: string): Promise<Space>
  /** Returns the name servers of the system. */
  nameServers(): readonly string[]
}

interface Space {
  readonly bytes: number
  readonly files: number | null // null: the filesystem does not count them
  readonly isReadOnly: boolean
}

const askMs = 10_000

export const thisHost: Host = {
  read(path) {
    try {
      return readFileSync(path, 'utf8')
    } catch {
      return null // another system, or a file that only others may read: what it would tell is not examined
    }
  },
  ask(program, ...args) {
    const { promise, resolve } = Promise.withResolvers<string | null>()
    execFile(program, args, { timeout: askMs }, (error, stdout) => resolve(error ? null : stdout))
    return promise
  },
  async space(dir) {
    const { bavail, bsize, files, ffree } = await statfs(dir)
    const isReadOnly = isMountedReadOnly(realpathSync(dir), thisHost.read('/proc/self/mountinfo') ?? '')
    return { bytes: bavail * bsize, files: files > 0 ? ffree : null, isReadOnly }
  },
  nameServers: getServers
}

/** Returns the number that is all of a file's text; null where there is none. */
export function numberIn(host: Host, path: string): number | null {
  const text = host.read(path)?.trim() ?? ''
  return /^\d+$/.test(text) ? Number(text) : null
}
