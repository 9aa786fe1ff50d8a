/** Returns the entries of a text field that has one per line, or several separated by commas; null if there are none. */
export function parseLines(text: string): string[] | null {
  const lines = text
    .split(/[\n,]/)
    .map(line => line.trim())
    .filter(Boolean)
  return lines.length === 0 ? null : lines
}
