import { once } from 'node:events'
import { join } from 'node:path'
import type { Test } from 'tap'
import { spawnChild } from './child-process.ts'

const preload = join(import.meta.dirname, 'kill-at-file-change.ts')

/**
 * Runs a module repeatedly, killed before its first, second, ... change of a file, until it completes. `prepare`
 * recreates the files and returns the module's arguments. `check` examines the files after each kill.
 */
export async function killAtEachChange(
  t: Test,
  module: string,
  prepare: (kill: number) => readonly string[],
  check: (kill: number, end: 'killed' | 'completed') => Promise<void>
): Promise<number> {
  for (let kill = 1; ; kill++) {
    const child = spawnChild(process.execPath, ['--import', preload, module, ...prepare(kill)], {
      env: { ...process.env, KILL_AT: String(kill) },
      stdio: ['ignore', 'inherit', 'inherit']
    })
    const [code, signal] = await once(child, 'exit')
    t.ok(code === 0 || signal === 'SIGKILL', `${kill}: ${code} ${signal}`)
    await check(kill, signal === 'SIGKILL' ? 'killed' : 'completed')
    if (signal !== 'SIGKILL') return kill
  }
}
