export interface SeededRandom {
  below(count: number): number
  oneIn(count: number): boolean
  pick<T>(list: readonly T[]): T | undefined
  /** Returns 1 to 2^bits, each order of magnitude equally often. */
  size(bits: number): number
}

/** The generator mulberry32. The same seed gives the same numbers. */
export function seededRandom(seed: number): SeededRandom {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (count: number) => Math.floor(next() * count)
  return {
    below,
    oneIn: count => below(count) === 0,
    pick: list => list[below(list.length)],
    size: bits => Math.floor(2 ** (next() * bits))
  }
}
