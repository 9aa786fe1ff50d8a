// A token bucket: in t seconds at most perSec * t + burst. Who finds too little may stand in line and is called.
import type { Rate } from '../../engine.ts'
import { longestTimerMs } from '../tcp/relay.ts'

/** Smaller takes would cost more than they move. */
const turnMs = 10
const maxTurnTokens = 64 * 1024

/** One place in the line; it is told to ask again, and does so within the call. */
export type Waiter = () => void

export interface Bucket {
  /** All or nothing, out of turn: for what cannot wait. */
  has(count: number): boolean
  take(count: number): void
  /** What the next in turn may take of `want` now; 0: it stands in line and is called. */
  offer(want: number, waiter: Waiter): number
  leave(waiter: Waiter): void
  change(rate: Rate | null): void
  /** Waiting so far, summed over all that have waited. */
  waitedMs(): number
}

export function openBucket(now = () => performance.now()): Bucket {
  const line = new Map<Waiter, number>() // since when
  let rate: Rate | null = null
  let tokens = 0
  let at = 0
  let waitedMs = 0
  let turn: Waiter | null = null
  let timer: NodeJS.Timeout | undefined

  const refill = () => {
    const later = now()
    if (rate) tokens = Math.min(burstOf(rate), tokens + ((later - at) * rate.perSec) / 1000)
    at = later
  }
  const leave = (waiter: Waiter) => {
    const since = line.get(waiter)
    if (since === undefined) return
    line.delete(waiter)
    waitedMs += now() - since
    if (line.size === 0) clearTimeout(timer)
  }
  const has = (count: number) => {
    refill()
    return rate === null || tokens >= count
  }
  const arm = () => {
    clearTimeout(timer)
    if (!rate || line.size === 0) return
    const lackingMs = ((turnOf(rate) - tokens) * 1000) / rate.perSec
    if (rate.perSec > 0) timer = setTimeout(callUp, Math.min(Math.max(1, lackingMs), longestTimerMs))
  }
  /** The line moves up while there is something for its first; who wants more goes to its end. */
  const callUp = () => {
    for (const waiter of [...line.keys()]) {
      if (rate && !has(turnOf(rate))) break
      if (!line.has(waiter)) continue
      leave(waiter)
      turn = waiter
      waiter()
      turn = null
    }
    arm()
  }

  return {
    has,
    take(count) {
      if (rate) tokens -= count
    },
    offer(want, waiter) {
      if (!rate) return want
      const isTurn = turn === waiter || line.size === 0
      const least = Math.min(want, turnOf(rate))
      if (isTurn && has(least)) {
        turn = null
        return line.size > 0 ? least : Math.min(want, maxTurnTokens, Math.floor(tokens))
      }
      if (!line.has(waiter)) line.set(waiter, now())
      if (turn === null && line.size === 1) arm()
      return 0
    },
    leave,
    change(next) {
      refill()
      tokens = next ? Math.min(rate ? tokens : Number.POSITIVE_INFINITY, burstOf(next)) : 0
      rate = next
      callUp()
    },
    waitedMs() {
      const later = now()
      return [...line.values()].reduce((sum, since) => sum + later - since, waitedMs)
    }
  }
}

/** A bucket that holds less than one token would let nothing through, ever. */
const burstOf = ({ burst }: Rate): number => Math.max(1, burst)

/** What is worth a call. Half a burst, so that the bucket does not run over before the late timer fires. */
const turnOf = (rate: Rate): number =>
  Math.max(
    1,
    Math.min(Math.floor(burstOf(rate) / 2), Math.ceil((rate.perSec * turnMs) / 1000), maxTurnTokens)
  )
