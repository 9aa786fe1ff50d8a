import type { ReactNode } from 'react'
import { language } from '../../text/text.ts'

export interface Column<R> {
  readonly id: string
  readonly title: string
  /** Sort and search use it; it is shown if there is no `cell`. */
  readonly value: (row: R) => string | number
  readonly cell?: (row: R) => ReactNode
  readonly width?: number // minimum in rem, and share of the remaining width. Default 10
  readonly numeric?: true
  readonly extra?: true // hidden until the user selects it
}

export interface Sort {
  readonly by: string
  readonly isDescending: boolean
}

const collator = new Intl.Collator(language, { numeric: true, sensitivity: 'base' })

/** Returns rows that contain every word in any column. */
export function searchRows<R>(
  rows: readonly R[],
  columns: readonly Column<R>[],
  words: string
): readonly R[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean)
  if (wanted.length === 0) return rows
  return rows.filter(row => {
    const all = columns
      .map(({ value }) => value(row))
      .join('\n')
      .toLowerCase()
    return wanted.every(word => all.includes(word))
  })
}

export function sortRows<R>(
  rows: readonly R[],
  columns: readonly Column<R>[],
  sort: Sort | null
): readonly R[] {
  const column = columns.find(({ id }) => id === sort?.by)
  if (!column || !sort) return rows
  const sign = sort.isDescending ? -1 : 1
  return rows
    .map(row => ({ row, value: column.value(row) }))
    .sort(({ value: a }, { value: b }) => {
      if (typeof a === 'number' && typeof b === 'number') return sign * (a - b)
      return sign * collator.compare(String(a), String(b))
    })
    .map(({ row }) => row)
}
