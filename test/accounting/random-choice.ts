import type { SeededRandom } from '../bench/soak/seeded-random.ts'

/** Returns a random element of a non-empty list. */
export const randomElement = <T>(list: readonly T[], dice: SeededRandom): T =>
  list[dice.below(list.length)] as T

export function shuffle<T>(list: readonly T[], dice: SeededRandom): T[] {
  const left = [...list]
  return list.map(() => left.splice(dice.below(left.length), 1)[0] as T) // each is removed once
}
