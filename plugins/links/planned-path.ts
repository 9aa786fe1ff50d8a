// The path of a planned target, as text: its clients in order, and the key of the target. A target with another text is
// another target. Connections show the text to the server.
import { isId } from '../../kernel/platform/id.ts'

interface SentPath {
  readonly next: string
  readonly others: readonly string[]
  readonly key: number
}

export const planPath = ({ next, others, key }: SentPath): string => [next, ...others, key].join(' ')

export function readPath(text = ''): { readonly next: string; readonly key: number } {
  const words = text.split(' ')
  return { next: words[0] ?? '', key: Number(words.at(-1)) }
}

/** Returns the clients of the path; none if the text is not one. */
export const clientsIn = (text: string): string[] => text.split(' ').filter(isId)
