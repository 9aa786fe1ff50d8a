import { mock } from 'node:test'
import type { Test } from 'tap'

/** Replaces `setTimeout`, which enforces the time limits of plugins. */
export function fakeTimers(t: Pick<Test, 'teardown'>): { advance(secs: number): void } {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  return { advance: secs => mock.timers.tick(secs * 1000) }
}
