// Sets the wall clock of single processes. Their monotonic clock does not change.
import { execFileSync } from 'node:child_process'
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

const source = join(import.meta.dirname, '../../native/test/clock.c')

export interface SettableClock {
  /** The environment for processes with this clock. */
  readonly env: Readonly<Record<string, string>>
  /** Sets the offset from the machine's clock in seconds. Negative is behind. */
  set(aheadSecs: number): void
}

export function settableClock(t: Pick<Test, 'teardown'>, aheadSecs = 0): SettableClock {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-clock-'))
  chmodSync(dir, 0o755) // also for processes of another user
  const library = join(dir, 'clock.so')
  const file = join(dir, 'ahead')
  execFileSync('cc', ['-O2', '-shared', '-fPIC', '-o', library, source, '-ldl'])
  const fd = openSync(file, 'w+', 0o644)
  t.teardown(() => {
    closeSync(fd)
    rmSync(dir, { recursive: true })
  })
  const set = (secs: number): void => {
    const nanoseconds = Buffer.alloc(8)
    nanoseconds.writeBigInt64LE(BigInt(Math.round(secs * 1000)) * 1_000_000n)
    writeSync(fd, nanoseconds, 0, 8, 0) // in place: processes have the file mapped
  }
  set(aheadSecs)
  return { env: { LD_PRELOAD: library, CLOCK_AHEAD: file }, set }
}
