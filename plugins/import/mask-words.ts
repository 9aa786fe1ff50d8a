// Hides secrets in the words of a statement.
const secretWord = /passw|passphrase|secret|token|authorization|credential|api_?key|private_?key/i
const userInUrl = /(:\/\/)[^\s"'@]{1,512}@/

/** True if a word names a secret, so that the words after it may be one, or a URL has a user. */
export const isSecretText = (words: readonly string[]): boolean =>
  words.some(
    (word, at) =>
      (secretWord.test(word) && (at + 1 < words.length || word.includes('='))) || userInUrl.test(word)
  )

/** Joins the words; those after one that names a secret are hidden. */
export function maskWords(words: readonly string[]): string {
  const at = words.findIndex(word => secretWord.test(word))
  const shown =
    at < 0
      ? words
      : words.slice(0, at + 1).map(word => (secretWord.test(word) ? word.replace(/=.*$/s, '=***') : word))
  const text = shown.map(word => word.replace(userInUrl, '$1***@')).join(' ')
  return at >= 0 && at + 1 < words.length ? `${text} ***` : text
}
