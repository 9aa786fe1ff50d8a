export interface Dice {
  below(count: number): number
  oneIn(count: number): boolean
  of<T>(list: readonly T[]): T | undefined
  /** 1 to 2^bits, small ones as often as large ones. */
  size(bits: number): number
}

/** mulberry32: the same numbers from the same seed. */
export function openDice(seed: number): Dice {
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
    of: list => list[below(list.length)],
    size: bits => Math.floor(2 ** (next() * bits))
  }
}
