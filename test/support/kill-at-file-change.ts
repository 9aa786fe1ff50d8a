// Preloaded with --import. Kills the process before its KILL_AT-th call that changes a file, like a power failure.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

let left = Number(process.env['KILL_AT'])
const calls = fs as unknown as Record<string, (...args: unknown[]) => unknown>

for (const name of [
  'renameSync',
  'rmSync',
  'writeFileSync',
  'linkSync',
  'mkdirSync',
  'copyFileSync',
  'fsyncSync'
]) {
  const call = calls[name]
  if (!call) throw new TypeError(`node:fs has no ${name}`)
  calls[name] = (...args) => {
    if (--left === 0) process.kill(process.pid, 'SIGKILL')
    return call(...args)
  }
}
syncBuiltinESMExports()
