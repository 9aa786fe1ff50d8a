import { invalidFile } from './source-file.ts'

interface Syntax {
  readonly comment?: string // the character that begins one, outside of quotes
  readonly escapes?: Readonly<Record<string, string>> // characters after a backslash with a meaning
}

/** Splits a line like a shell: quotes and backslashes. Expands nothing. Throws `import_invalid` for an open quote. */
export function splitWords(
  line: string,
  file: string,
  lineNumber: number,
  { comment, escapes = {} }: Syntax = {}
): string[] {
  const words: string[] = []
  let word: string | null = null
  let quote = ''
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at] ?? ''
    if (quote === '' && character === comment) break
    if (quote === '' && /\s/.test(character)) {
      if (word !== null) words.push(word)
      word = null
      continue
    }
    word ??= ''
    if (character === quote) quote = ''
    else if (quote === '' && (character === '"' || character === "'")) quote = character
    else if (character === '\\' && quote !== "'" && at + 1 < line.length) {
      at += 1
      const next = line[at] ?? ''
      word += escapes[next] ?? next
    } else word += character
  }
  if (quote !== '') throw invalidFile(file, lineNumber, `a quote (${quote}) is not closed`)
  if (word !== null) words.push(word)
  return words
}
