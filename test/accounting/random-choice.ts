import type { SeededRandom } from '../bench/soak/seeded-random.ts'

/** A random element of a list that is not empty. */
export const randomElement = <T>(list: readonly T[], dice: SeededRandom): T =>
  list[dice.below(list.length)] as T

export function shuffle<T>(list: readonly T[], dice: SeededRandom): T[] {
  const left = [...list]
  return list.map(() => left.splice(dice.below(left.length), 1)[0] as T) // as many as there are
}
