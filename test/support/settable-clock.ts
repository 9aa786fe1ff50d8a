// Sets the wall clock of single processes with libfaketime (Debian package `libfaketime`). Their monotonic clock stays.
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

const library = ['x86_64', 'aarch64']
  .map(machine => `/usr/lib/${machine}-linux-gnu/faketime/libfaketime.so.1`)
  .find(existsSync)

/** The option `skip` of tests that need the library. */
export const noSettableClock = library === undefined && 'libfaketime is not installed'

export interface SettableClock {
  /** For the processes that show this clock. */
  readonly env: Readonly<Record<string, string>>
  /** Sets how far it is ahead of the machine's, such as '+40d' or '-2h'. */
  set(ahead: string): void
}

export function settableClock(t: Pick<Test, 'teardown'>, ahead = '+0'): SettableClock {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-clock-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const file = join(dir, 'ahead')
  const set = (ahead: string): void => {
    writeFileSync(`${file}.new`, `${ahead}\n`)
    renameSync(`${file}.new`, file) // a process never reads half of it
  }
  set(ahead)
  return {
    env: {
      LD_PRELOAD: library ?? '',
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1'
    },
    set
  }
}
