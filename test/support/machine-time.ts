import { mock } from 'node:test'
import type { Test } from 'tap'

/** Replaces the real timers, which enforce the time limits of plugins. Time then advances only by `pass`. */
export function machineTime(t: Pick<Test, 'teardown'>): { pass(secs: number): void } {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  return { pass: secs => mock.timers.tick(secs * 1000) }
}
