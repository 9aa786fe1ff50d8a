// Bounds the handshakes at a listener. Strangers and known addresses have their own places.

interface Kind {
  readonly most: number
  readonly mostOfNetwork: number
}

export const strangers: Kind = { most: 256, mostOfNetwork: 16 }
export const knownPeers: Kind = { most: 1_024, mostOfNetwork: 512 }

interface Place {
  readonly network: string
  readonly drop: () => void
}

export class HandshakePlaces {
  readonly #kind: Kind
  readonly #places = new Set<Place>() // the oldest first
  readonly #ofNetwork = new Map<string, number>()

  constructor(kind: Kind) {
    this.#kind = kind
  }

  get size(): number {
    return this.#places.size
  }

  /**
   * Takes a place. Beyond a bound, the oldest handshake, or the oldest of the network, is dropped. Call the result when the
   * handshake is over.
   */
  enter(network: string, drop: () => void): () => void {
    const place: Place = { network, drop }
    this.#places.add(place)
    this.#ofNetwork.set(network, this.#countOf(network) + 1)
    if (this.#countOf(network) > this.#kind.mostOfNetwork) this.#dropOldest(network)
    else if (this.#places.size > this.#kind.most) this.#dropOldest(null)
    return () => this.#leave(place)
  }

  #countOf(network: string): number {
    return this.#ofNetwork.get(network) ?? 0
  }

  #dropOldest(network: string | null): void {
    for (const place of this.#places) {
      if (network !== null && place.network !== network) continue
      this.#leave(place)
      place.drop()
      return
    }
  }

  #leave(place: Place): void {
    if (!this.#places.delete(place)) return
    const left = this.#countOf(place.network) - 1
    if (left > 0) this.#ofNetwork.set(place.network, left)
    else this.#ofNetwork.delete(place.network)
  }
}
