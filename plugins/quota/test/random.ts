/** Returns a function that draws integers from 0 to `below` - 1, the same ones in every run. */
export function openRandom(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((state / 2 ** 31) * below)
  }
}
