import { mock } from 'node:test'
import type { Test } from 'tap'

/** The limits of what plugins do are of the machine's own time: from here on it stands still until it is moved. */
export function machineTime(t: Pick<Test, 'teardown'>): { pass(secs: number): void } {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  return { pass: secs => mock.timers.tick(secs * 1000) }
}
