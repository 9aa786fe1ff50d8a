/** Quotes a word for a shell, if needed. */
export const quoteForShell = (word: string): string =>
  /^[\w./:@-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
