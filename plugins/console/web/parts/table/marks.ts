/** The selected rows of a table. */
export interface Marks {
  readonly marked: ReadonlySet<string> // ids of rows
  readonly setMarked: (marked: ReadonlySet<string>) => void
  readonly hasSelection: boolean
}

export function mark({ marked, setMarked }: Marks, ids: readonly string[], isOn: boolean): void {
  const next = new Set(marked)
  for (const id of ids) isOn ? next.add(id) : next.delete(id)
  setMarked(next)
}
