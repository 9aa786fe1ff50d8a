// Chooses the target of a connection or flow by the balance of its rule. `native/src/target-chooser.cc` does the same.
import type { Balance } from '../engine/balance.ts'
import type { EngineRule, EngineTarget } from '../engine/engine.ts'
import { ipv6Network } from '../net/address.ts'
import type { LiveTargetCounters } from './live-counters.ts'
import type { Choose } from './target-health.ts'

export class TargetChooser {
  weights: readonly number[]
  shares: readonly number[]
  readonly #balance: Balance
  readonly #targets: readonly EngineTarget[]
  readonly #counters: readonly LiveTargetCounters[]
  #of: Parameters<Choose>[1] = 'in-service' // candidates of the current choice
  readonly #credits: number[] // by target: of the smooth weighted round robin

  constructor(
    balance: Balance,
    { targets, shares }: Pick<EngineRule, 'targets' | 'shares'>,
    counters: readonly LiveTargetCounters[]
  ) {
    this.weights = balance.weights
    this.shares = shares ?? targets.map(() => 1)
    this.#balance = balance
    this.#targets = targets
    this.#counters = counters
    this.#credits = targets.map(() => 0)
  }

  /** Chooses one of `targets` (indices) for a canonical address; undefined: none has a weight and a share. */
  choose(
    targets: readonly number[],
    source: string,
    of: Parameters<Choose>[1] = 'in-service'
  ): number | undefined {
    this.#of = of
    const weighted = targets.filter(target => this.#weight(target) > 0)
    const tier = Math.min(...weighted.map(target => this.#balance.tiers[target] ?? 0))
    const candidates = weighted.filter(target => this.#balance.tiers[target] === tier)
    if (candidates.length < 2) return candidates[0]
    switch (this.#balance.by) {
      case 'round_robin':
        return this.#inTurn(candidates)
      case 'least_connections':
        return this.#inTurn(least(candidates, target => this.#load(target)))
      case 'random_two':
        return this.#ofTwo(candidates)
      case 'source_hash':
        return least(candidates, target => this.#distance(target, this.#networkOf(source)))[0]
    }
  }

  /** Shares do not apply to the last resort: the share of an ejected target is 0. */
  #weight(target: number): number {
    const share = this.#of === 'in-service' ? this.shares[target] : 1
    return (this.weights[target] ?? 0) * (share ?? 1)
  }

  #networkOf(source: string): string {
    const { ipv6Prefix = 128 } = this.#balance
    return ipv6Prefix < 128 && source.includes(':') ? ipv6Network(source, ipv6Prefix) : source
  }

  /** Returns the load of the target with one more connection, relative to its weight. */
  #load(target: number): number {
    return ((this.#counters[target]?.active ?? 0) + 1) / this.#weight(target)
  }

  /** Smooth weighted round robin: each earns its weight, the richest is chosen and pays what all have earned. */
  #inTurn(candidates: readonly number[]): number | undefined {
    for (const target of candidates) this.#credits[target] = this.#credit(target) + this.#weight(target)
    const [chosen = 0] = least(candidates, target => -this.#credit(target))
    this.#credits[chosen] = this.#credit(chosen) - sum(candidates.map(target => this.#weight(target)))
    return chosen
  }

  #credit(target: number): number {
    return this.#credits[target] ?? 0
  }

  #ofTwo(candidates: readonly number[]): number | undefined {
    const one = this.#atRandom(candidates)
    const other = this.#atRandom(candidates.filter(target => target !== one))
    return least([one, other], target => this.#load(target))[0]
  }

  #atRandom(candidates: readonly number[]): number {
    let rest = Math.random() * sum(candidates.map(target => this.#weight(target)))
    for (const target of candidates) {
      rest -= this.#weight(target)
      if (rest < 0) return target
    }
    return candidates.at(-1) ?? 0 // where the sum was rounded
  }

  /** Weighted rendezvous hashing: removing other targets does not change the nearest target of an address. */
  #distance(target: number, source: string): number {
    const { host = '', port = 0, dialer, path } = this.#targets[target] ?? {}
    const key = [source, host, port, ...(dialer === undefined ? [] : [dialer, path ?? ''])].join(' ')
    return -Math.log((hash(key) + 0.5) / 2 ** 32) / this.#weight(target)
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

/** Returns all items with the least value, in order. */
function least(items: readonly number[], measure: (item: number) => number): number[] {
  const values = items.map(measure)
  const lowest = Math.min(...values)
  return items.filter((_, at) => values[at] === lowest)
}

/** FNV-1a, then the finalizer of MurmurHash3, 32 bits. */
function hash(text: string): number {
  let bits = 0x811c9dc5
  for (const byte of Buffer.from(text)) bits = Math.imul(bits ^ byte, 0x01000193)
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}
