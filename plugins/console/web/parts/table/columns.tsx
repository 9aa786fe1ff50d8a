// Columns that several tables have.
import type { ReactNode } from 'react'
import { bytes, count } from '../../format.ts'
import { text } from '../../text/text.ts'
import { Dot, type Tone } from '../Dot.tsx'
import { PageLink } from '../PageLink.tsx'
import { type TimeFormat, Timestamp } from '../Timestamp.tsx'
import type { Column } from './rows.ts'

type Layout = Pick<Column<never>, 'width' | 'wide' | 'extra'>

/** A text that may be cut; the tooltip shows all of it. */
export const longTextColumn = <R,>(
  id: string,
  title: string,
  read: (row: R) => string,
  layout: Layout = {}
): Column<R> => ({
  id,
  title,
  value: read,
  cell: row => <span title={read(row)}>{read(row)}</span>,
  ...layout
})

/** A text that links to a page, or a plain text if `to` returns null. */
export const linkColumn = <R,>(
  id: string,
  title: string,
  read: (row: R) => string,
  to: (row: R) => string | null,
  layout: Layout = {}
): Column<R> => ({
  id,
  title,
  value: read,
  cell: row => {
    const path = to(row)
    return path === null ? read(row) : <PageLink to={path}>{read(row)}</PageLink>
  },
  ...layout
})

export const countColumn = <R,>(
  id: string,
  title: string,
  read: (row: R) => number,
  layout: Layout = {}
): Column<R> => ({ id, title, value: read, cell: row => count(read(row)), numeric: true, ...layout })

export const bytesColumn = <R,>(
  id: string,
  title: string,
  read: (row: R) => number,
  layout: Layout = {}
): Column<R> => ({ id, title, value: read, cell: row => bytes(read(row)), numeric: true, ...layout })

/** A time (RFC 3339), or null for never. */
export const timeColumn = <R,>(
  id: string,
  title: string,
  read: (row: R) => string | null,
  { format, ...layout }: Layout & { readonly format?: TimeFormat } = {}
): Column<R> => ({
  id,
  title,
  value: row => Date.parse(read(row) ?? '') || 0,
  cell: row => {
    const at = read(row)
    return at === null ? text.when.never : <Timestamp at={at} format={format} />
  },
  ...layout
})

/** A state with a colored dot. */
export const stateColumn = <R,>(
  id: string,
  title: string,
  read: (row: R) => string,
  toneOf: (row: R) => Tone | undefined,
  layout: Layout = {}
): Column<R> => ({
  id,
  title,
  value: read,
  cell: row => (
    <span>
      <Dot tone={toneOf(row)} />
      {read(row)}
    </span>
  ),
  ...layout
})

/** Buttons for each row. */
export const actionsColumn = <R,>(cell: (row: R) => ReactNode, width: number): Column<R> => ({
  id: 'do',
  title: '',
  value: () => '',
  cell,
  width
})
