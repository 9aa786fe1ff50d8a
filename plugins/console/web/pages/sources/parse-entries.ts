/** Addresses and prefixes, one in each line; # begins a comment. */
export const entriesIn = (lines: string): string[] =>
  lines
    .split('\n')
    .map(line => line.replace(/#.*/, '').trim())
    .filter(Boolean)
