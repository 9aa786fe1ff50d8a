import { chmodSync } from 'node:fs'
import type { Test } from 'tap'

/** Returns a test directory that a server or an agent accepts. A plain `testdir` may be readable by others. */
export function privateDir(t: Pick<Test, 'testdir'>, ...content: Parameters<Test['testdir']>): string {
  const dir = t.testdir(...content)
  chmodSync(dir, 0o700)
  return dir
}
