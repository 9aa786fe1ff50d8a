const maxRows = 128
const maxValues = 1_000 // per statement: one with more values is prepared for each run

/** Splits rows into power-of-two batches, so that only a few prepared statements are needed. */
export function* rowBatches<T>(rows: readonly T[], valuesOfRow = 1): Iterable<readonly T[]> {
  for (let at = 0, size = 0; at < rows.length; at += size) {
    size = 2 ** Math.floor(Math.log2(Math.min(maxRows, maxValues / valuesOfRow, rows.length - at)))
    yield rows.slice(at, at + size)
  }
}
