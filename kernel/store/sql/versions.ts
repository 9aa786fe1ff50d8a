/** Detects changes of tables: each commit raises the numbers of the tables that it wrote to. */
export class Versions {
  isShared = (): boolean => false // true while peers can write, so that any table may have changed
  #newest = 0
  #ofAny = 0
  readonly #of = new Map<string, number>()

  changed(tables: Iterable<string>): void {
    this.#newest++
    for (const table of tables)
      if (table === '*') this.#ofAny = this.#newest
      else this.#of.set(table, this.#newest)
  }

  of(tables: readonly string[]): number {
    if (this.isShared()) this.changed(['*'])
    return Math.max(this.#ofAny, ...tables.map(table => this.#of.get(table) ?? 0))
  }
}
