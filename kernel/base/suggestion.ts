import { closestMatch } from 'leven'

/** Returns '; did you mean NAME?', or '' if no name is close enough. */
export function suggestion(word: string, names: readonly string[]): string {
  const name = closestName(word, names)
  return name === null ? '' : `; did you mean ${name}?`
}

/** Returns the name with the fewest edits, or null if none is close enough. */
export const closestName = (word: string, names: readonly string[]): string | null =>
  closestMatch(word, names, { maxDistance: Math.floor(Math.max(2, word.length / 3)) }) ?? null
