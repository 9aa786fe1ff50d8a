// Columns that several tables have. `key` is the property of the row.
import type { ReactNode } from 'react'
import { bytes, count } from '../../format.ts'
import { text } from '../../text/text.ts'
import { Dot, type Tone } from '../Dot.tsx'
import { PageLink } from '../page/PageLink.tsx'
import { type TimeFormat, Timestamp } from '../Timestamp.tsx'
import type { Column } from './rows.ts'

type Layout = Pick<Column<never>, 'width' | 'extra'>
type Key<R, T> = { [K in keyof R & string]: R[K] extends T ? K : never }[keyof R & string]

export const textColumn = <R,>(
  key: Key<R, string | null>,
  title: string,
  layout: Layout = {}
): Column<R> => ({
  id: key,
  title,
  value: row => (row[key] as string | null) ?? '',
  ...layout
})

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

/** A text that links to a page, or a plain text if the path is null. */
export const linkColumn = <R,>(
  id: string,
  title: string,
  link: (row: R) => readonly [label: string, path: string | null],
  layout: Layout = {}
): Column<R> => ({
  id,
  title,
  value: row => link(row)[0],
  cell: row => {
    const [label, path] = link(row)
    return path === null ? label : <PageLink to={path}>{label}</PageLink>
  },
  ...layout
})

const numberColumn =
  (format: (n: number) => string) =>
  <R,>(key: Key<R, number>, title: string, layout: Layout = {}): Column<R> => ({
    id: key,
    title,
    value: row => row[key] as number,
    cell: row => format(row[key] as number),
    numeric: true,
    ...layout
  })

export const countColumn = numberColumn(count)
export const bytesColumn = numberColumn(bytes)

/** A time (RFC 3339), or null for never. */
export const timeColumn = <R,>(
  key: Key<R, string | null>,
  title: string,
  { format, ...layout }: Layout & { readonly format?: TimeFormat } = {}
): Column<R> => ({
  id: key,
  title,
  value: row => Date.parse(String(row[key])) || 0,
  cell: row => (row[key] === null ? text.when.never : <Timestamp at={String(row[key])} format={format} />),
  ...layout
})

/** A state with a colored dot. */
export const stateColumn = <R,>(
  id: string,
  title: string,
  state: (row: R) => readonly [label: string, tone: Tone | undefined],
  layout: Layout = {}
): Column<R> => ({
  id,
  title,
  value: row => state(row)[0],
  cell: row => {
    const [label, tone] = state(row)
    return (
      <span>
        <Dot tone={tone} />
        {label}
      </span>
    )
  },
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
