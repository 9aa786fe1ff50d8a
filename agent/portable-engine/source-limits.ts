// Limits for each source of callers.

import type { SourceLimit } from '../engine/source-guard.ts'
import { sourceOf } from '../net/address-set.ts'

/** The most buckets of all limits together. The least recently used of the owner with the most are evicted: those are full again. */
const maxBuckets = 65_536
const sayAgainMs = 1_000

interface Bucket {
  tokens: number
  filledAt: number
  saidAt: number
}

/** A refusal, or a function that releases the caller's places. */
export type Entered = { readonly refusal: string } | { readonly leave: () => void }

export class SourceLimits {
  readonly #open = new Map<string, number>() // by limit and source; of those that have any
  readonly #buckets = new Map<string, Map<string, Bucket>>() // by owner, then by limit and source, the least recent first
  #bucketCount = 0

  /** Counts a caller of a rule with this owner. Calls `over` for each exceeded limit without a refusal. */
  enter(
    owner: string,
    limits: readonly SourceLimit[],
    address: string,
    over: (limit: SourceLimit, source: string) => void
  ): Entered {
    const source = sourceOf(address)
    const entered: string[] = []
    const leave = (): void => {
      for (const key of entered.splice(0)) this.#leave(key)
    }
    for (const limit of limits) {
      const key = `${limit.name} ${source}`
      if (limit.of === 'open' && this.#enter(key, limit.max)) entered.push(key)
      else if (
        limit.of === 'open' ||
        (limit.of === 'new' && !this.#take(owner, limit, key, () => over(limit, source)))
      ) {
        if (limit.refusal === null) continue
        leave()
        return { refusal: limit.refusal }
      }
    }
    return { leave }
  }

  /** Counts a caller with a failed handshake. */
  fail(
    owner: string,
    limits: readonly SourceLimit[],
    address: string,
    over: (limit: SourceLimit, source: string) => void
  ): void {
    const source = sourceOf(address)
    for (const limit of limits)
      if (limit.of === 'failed')
        this.#take(owner, limit, `${limit.name} ${source}`, () => over(limit, source))
  }

  #enter(key: string, max: number): boolean {
    const open = this.#open.get(key) ?? 0
    if (open < max) this.#open.set(key, open + 1)
    return open < max
  }

  #leave(key: string): void {
    const open = (this.#open.get(key) ?? 1) - 1
    if (open > 0) this.#open.set(key, open)
    else this.#open.delete(key)
  }

  /** Returns the bucket as the most recently used one of its owner. */
  #bucketOf(owner: string, key: string, full: Bucket): Bucket {
    const own = this.#buckets.get(owner) ?? new Map<string, Bucket>()
    this.#buckets.set(owner, own)
    const existing = own.get(key)
    const bucket = existing ?? full
    own.delete(key)
    own.set(key, bucket)
    if (!existing && ++this.#bucketCount > maxBuckets) this.#evict(owner, own)
    return bucket
  }

  /** Evicts a bucket of the owner if it is beyond its equal share, else one of the owner with the most. */
  #evict(owner: string, own: Map<string, Bucket>): void {
    let largest = { owner, buckets: own }
    if (own.size <= maxBuckets / this.#buckets.size)
      for (const [owner, buckets] of this.#buckets)
        if (buckets.size > largest.buckets.size) largest = { owner, buckets }
    const [oldest] = largest.buckets.keys()
    if (oldest !== undefined) largest.buckets.delete(oldest)
    if (largest.buckets.size === 0) this.#buckets.delete(largest.owner)
    this.#bucketCount--
  }

  #take(owner: string, { max, perMs, refusal }: SourceLimit, key: string, say: () => void): boolean {
    const now = performance.now()
    const bucket = this.#bucketOf(owner, key, { tokens: max, filledAt: now, saidAt: now - sayAgainMs })
    bucket.tokens = Math.min(max, bucket.tokens + (max * (now - bucket.filledAt)) / perMs)
    bucket.filledAt = now
    if (bucket.tokens >= 1) {
      bucket.tokens -= 1
      return true
    }
    if (refusal === null && now - bucket.saidAt >= sayAgainMs) {
      bucket.saidAt = now
      say()
    }
    return false
  }
}
