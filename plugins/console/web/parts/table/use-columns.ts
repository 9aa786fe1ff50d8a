import { useState } from 'react'
import type { Column } from './rows.ts'

/** Returns the visible columns of a table. The browser stores which ones the user hides. */
export function useColumns<R>(name: string, columns: readonly Column<R>[]) {
  const key = `sluice.columns.${name}`
  const [hidden, setHidden] = useState<ReadonlySet<string>>(() => {
    const extra = columns.filter(column => column.extra).map(({ id }) => id)
    return new Set(localStorage.getItem(key)?.split(',').filter(Boolean) ?? extra)
  })
  const toggle = (id: string): void => {
    const next = new Set(hidden)
    if (!next.delete(id)) next.add(id)
    localStorage.setItem(key, [...next].join(','))
    setHidden(next)
  }
  const shown = columns.filter(({ id }) => !hidden.has(id))
  return { shown, hidden, toggle }
}
