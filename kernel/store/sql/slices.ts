const [mostRows, mostValues] = [128, 1_000] // of a statement: one with more values is prepared for each of its runs

/** Returns rows of so many values in slices of few lengths, since each length is a statement that is kept prepared. */
export function* slices<T>(rows: readonly T[], valuesOfRow = 1): Iterable<readonly T[]> {
  for (let at = 0, size = 0; at < rows.length; at += size) {
    size = 2 ** Math.floor(Math.log2(Math.min(mostRows, mostValues / valuesOfRow, rows.length - at)))
    yield rows.slice(at, at + size)
  }
}
