// Networks of peers that have connected, as a listener sees them: an IPv4 address or an IPv6 /64.
import type { Clock } from '../../../../kernel/base/clock.ts'

const rememberMs = 10 * 60_000
const maxKnown = 4_096

interface Known {
  open: number // link connections
  until: number // while none is open
}

export class KnownAddresses {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #known = new Map<string, Known>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** A link connection from the network has passed the pin check. Call the result when it has ended. */
  opened(network: string): () => void {
    const known = this.#known.get(network) ?? { open: 0, until: 0 }
    known.open += 1
    this.#known.delete(network)
    this.#known.set(network, known) // the most recent is last
    if (this.#known.size > maxKnown) this.#forget()
    return () => {
      known.open -= 1
      known.until = this.#clock.monotonic() + rememberMs
    }
  }

  has(network: string): boolean {
    const known = this.#known.get(network)
    return known !== undefined && (known.open > 0 || known.until > this.#clock.monotonic())
  }

  /** Forgets the oldest network without a link connection. */
  #forget(): void {
    for (const [network, { open }] of this.#known)
      if (open === 0) {
        this.#known.delete(network)
        return
      }
  }
}
