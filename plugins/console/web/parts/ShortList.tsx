import { Text } from '@mantine/core'
import type { ReactNode } from 'react'

interface Props<R> {
  readonly rows: readonly R[]
  readonly idOf: (row: R) => string
  readonly empty: string
  readonly children: (row: R) => ReactNode
}

/** A few rows below each other, or a sentence if there are none. */
export const ShortList = <R,>({ rows, idOf, empty, children }: Props<R>) =>
  rows.length === 0 ? (
    <Text c="dimmed">{empty}</Text>
  ) : (
    <ul className="short-list">
      {rows.map(row => (
        <li key={idOf(row)}>{children(row)}</li>
      ))}
    </ul>
  )
