/** The parts of a dial, in ms. The client that dialed the target has measured look-up and connect. */
export interface DialTiming {
  readonly dnsMs: number
  readonly connectMs: number
  readonly pathMs: number // the rest: the way to that client and back
}
