import { execFile } from 'node:child_process'
import { getServers } from 'node:dns'
import { readFileSync, realpathSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import type { Host } from '../cli/check-exports.ts'
import { findMount } from '../cli/exports.ts'

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
