/**
 * Checks a caller's address when the caller arrives, as `Filters.source` does. With a `firstRead`, that is the address
 * in the header. A deny set takes precedence over an allow set. For named sets see `Engine.changeAddresses`.
 */
export interface AddressGuard {
  readonly allow: readonly string[] | null // null: all that are not denied
  readonly deny: readonly string[]
  /** Whether a change of a set or of filters resets connections and flows that are no longer allowed. */
  readonly live: 'reset' | 'keep'
  readonly refusal: string // as in Filter
}

/**
 * A limit for each source: an IPv4 address, or the /64 of an IPv6 address. Limits with the same name count together
 * over all rules, and continue to count when a rule changes. The trusted senders of `firstRead` are not sources.
 */
export interface SourceLimit {
  readonly name: string
  /**
   * 'open': open connections and flows. 'new': new ones. 'failed': TCP callers with a failed handshake: 'sni_miss',
   * 'sni_timeout', or a refusal of `firstRead`. They count for the rule that counts the refusal.
   */
  readonly of: 'open' | 'new' | 'failed'
  /** For 'new' and 'failed', a token bucket: `max` at once, refilled with `max` in each `perMs`. */
  readonly max: number
  readonly perMs: number
  /** The reason under which further callers are refused. null: refuse nobody, emit 'source-over'; not for 'open'. */
  readonly refusal: string | null
}

/**
 * UDP: limits the bytes that a flow sends to its caller to `ratio` times the bytes from the caller. Further replies are
 * dropped and counted under `refusal`. The cap ends when the caller has sent `provenAfter` datagrams that each followed
 * a reply; 0: never. Bytes are payload.
 */
export interface ReplyCap {
  readonly ratio: number
  readonly provenAfter: number
  readonly refusal: string
}
