/**
 * Judges a caller by its address, when it comes, as `Filters.source` does: of a proxy in front, by the address that
 * `firstRead` has read. A deny set precedes an allow set. Sets are named, see `Engine.changeAddresses`.
 */
export interface AddressGuard {
  readonly allow: readonly string[] | null // null: all that are not denied
  readonly deny: readonly string[]
  /** What becomes of connections and flows that a change of a set, or of filters, no longer allows. */
  readonly live: 'reset' | 'keep'
  readonly refusal: string // as in Filter
}

/**
 * A limit for each source by itself: an IPv4 address, or the /64 of an IPv6 address. Limits of one name count together, in
 * all rules, and go on counting when a rule changes. The trusted senders of `firstRead` are no sources.
 */
export interface SourceLimit {
  readonly name: string
  /**
   * 'open': connections and flows at once. 'new': those that begin. 'failed': TCP callers whose handshake was wrong:
   * 'sni_miss', 'sni_timeout', or a refusal of `firstRead`; they count for the rule that counts the refusal.
   */
  readonly of: 'open' | 'new' | 'failed'
  /** Of 'new' and 'failed', a token bucket: `max` at once, and as many again in each `perMs`. */
  readonly max: number
  readonly perMs: number
  /** The reason under which callers beyond are refused. null, not for 'open': none is; an event 'source-over' names the source. */
  readonly refusal: string | null
}

/**
 * UDP: how many bytes a flow may send its caller, at most `ratio` times those that came from it; further replies are
 * dropped and counted under `refusal`. The cap ends when the caller has sent `provenAfter` datagrams that each came after
 * a reply; 0: never. Bytes are payload.
 */
export interface ReplyCap {
  readonly ratio: number
  readonly provenAfter: number
  readonly refusal: string
}
