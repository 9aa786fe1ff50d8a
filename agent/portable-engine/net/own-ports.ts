import { canonicalAddress, isOwnAddress } from '../../net/address.ts'

/** The ports of one protocol that this engine listens on. Dialing one would connect the engine to itself. */
export class OwnPorts {
  readonly #bound: readonly string[]
  readonly #ports = new Map<number, number>() // how many rules listen there: two, while one takes it over

  constructor(bind: readonly string[]) {
    this.#bound = bind.map(canonicalAddress)
  }

  add(from: number, to: number): void {
    for (let port = from; port <= to; port++) this.#ports.set(port, (this.#ports.get(port) ?? 0) + 1)
  }

  remove(from: number, to: number): void {
    for (let port = from; port <= to; port++) {
      const left = (this.#ports.get(port) ?? 0) - 1
      if (left > 0) this.#ports.set(port, left)
      else this.#ports.delete(port)
    }
  }

  /** Returns true when a dial to the canonical address and port would connect to a listener of this engine. */
  includes(address: string, port: number): boolean {
    return this.#ports.has(port) && isOwnAddress(this.#bound, address)
  }
}
