/** Parses addresses and prefixes, one per line; # starts a comment. */
export const parseEntries = (lines: string): string[] =>
  lines
    .split('\n')
    .map(line => line.replace(/#.*/, '').trim())
    .filter(Boolean)
