/** Spreads the connections and flows of a rule over its targets, in place of the failover order. */
export interface Balance {
  /**
   * How a target is chosen, always in proportion to the weights. 'round_robin': in turn; 'least_connections': the one with
   * the fewest `TargetCounters.active`; 'source_hash': by the caller's address, and another target takes over only those
   * of one that fails or is removed; 'random_two': of two taken at random, the one with fewer `active`.
   */
  readonly by: 'round_robin' | 'least_connections' | 'source_hash' | 'random_two'
  /** By target. One of a higher tier is dialed only when those of the tiers below are failed, or have not connected. */
  readonly tiers: readonly number[]
  /** By target, 0 to 1,000,000. A target of weight 0 gets no new connections. */
  readonly weights: readonly number[]
  /** Of 'source_hash': callers whose IPv6 addresses have these first bits in common are one, 1 to 128. Default: 128. */
  readonly ipv6Prefix?: number
}

export const maxWeight = 1_000_000
