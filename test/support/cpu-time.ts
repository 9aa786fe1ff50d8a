import type { Test } from 'tap'

/** Replaces the thread's processor time until the test ends, by one that only `burn` spends. */
export function fakeCpuTime(t: Test): { readonly burn: (ms: number) => void } {
  let user = 0 // microseconds
  const usage = (since = { user: 0 }): NodeJS.CpuUsage => ({ user: user - since.user, system: 0 })
  t.intercept(process, 'threadCpuUsage', { value: usage })
  return {
    burn(ms) {
      user += ms * 1000
    }
  }
}
