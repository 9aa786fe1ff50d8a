/** Quotes a word for a shell, where it needs it. */
export const quoteForShell = (word: string): string =>
  /^[\w./:@-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
