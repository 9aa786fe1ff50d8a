import { Checkbox, UnstyledButton, VisuallyHidden } from '@mantine/core'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type CSSProperties, useRef } from 'react'
import { text } from '../../text/text.ts'
import { type Marks, mark } from './marks.ts'
import type { Column, Sort } from './rows.ts'

interface Props<R> {
  readonly what: string
  readonly rows: readonly R[]
  readonly columns: readonly Column<R>[]
  readonly idOf: (row: R) => string
  readonly sort: Sort | null
  readonly onSort: (sort: Sort | null) => void
  readonly marks: Marks | null // null: rows cannot be selected
}

const rowHeight = 44
const overscan = 12

/**
 * Renders only the visible rows. Rows of a <table> cannot be positioned one by one, so this uses divs with roles.
 */
export function TableGrid<R>(props: Props<R>) {
  const { what, rows, columns, marks } = props
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan
  })
  const widths = columns.map(({ width = 10 }) => width)
  const style = gridStyle(widths, marks !== null)
  return (
    <div
      className="table"
      ref={scroller}
      role="table"
      aria-label={what}
      aria-rowcount={rows.length + 1}
      tabIndex={0}
    >
      <HeadRow {...props} style={style} />
      <div role="rowgroup" className="body" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const row = rows[index]
          if (row === undefined) return null
          const rowStyle = { ...style, transform: `translateY(${start}px)` }
          return <BodyRow key={props.idOf(row)} {...props} row={row} index={index} style={rowStyle} />
        })}
      </div>
    </div>
  )
}

function HeadRow<R>(props: Props<R> & { readonly style: CSSProperties }) {
  const { rows, columns, idOf, sort, onSort, marks, style } = props
  const isAll = marks?.hasSelection === true && rows.every(row => marks.marked.has(idOf(row)))
  return (
    <div role="rowgroup" className="head-group">
      <div role="row" className="head" aria-rowindex={1} style={style}>
        {marks && (
          <div role="columnheader">
            <Checkbox
              size="xs"
              aria-label={text.table.selectAll}
              checked={isAll}
              indeterminate={!isAll && marks.hasSelection}
              onChange={() => mark(marks, rows.map(idOf), !isAll)}
            />
          </div>
        )}
        {columns.map(column => (
          <ColumnHead key={column.id} column={column} sort={sort} onSort={onSort} />
        ))}
      </div>
    </div>
  )
}

interface RowProps<R> extends Props<R> {
  readonly row: R
  readonly index: number
  readonly style: CSSProperties
}

function BodyRow<R>({ row, index, columns, idOf, marks, style }: RowProps<R>) {
  const id = idOf(row)
  return (
    <div role="row" aria-rowindex={index + 2} style={style}>
      {marks && (
        <div role="cell">
          <Checkbox
            size="xs"
            aria-label={text.table.select(String(columns[0]?.value(row) ?? id))}
            checked={marks.marked.has(id)}
            onChange={event => mark(marks, [id], event.currentTarget.checked)}
          />
        </div>
      )}
      {columns.map(({ id: column, value, cell, numeric }) => (
        <div key={column} role="cell" data-numeric={numeric}>
          {cell ? cell(row) : value(row)}
        </div>
      ))}
    </div>
  )
}

/** Each row is a separate grid; equal widths line up the columns. */
function gridStyle(widths: readonly number[], hasMarks: boolean): CSSProperties {
  const columns = widths.map(width => `minmax(${width}rem, ${width}fr)`)
  const minWidth = widths.reduce((sum, width) => sum + width + 1, hasMarks ? 4 : 1.5)
  return {
    gridTemplateColumns: [...(hasMarks ? ['1.5rem'] : []), ...columns].join(' '),
    minWidth: `${minWidth}rem`
  }
}

interface HeadProps<R> {
  readonly column: Column<R>
  readonly sort: Sort | null
  readonly onSort: (sort: Sort | null) => void
}

/** Clicks sort ascending, then descending, then not at all. */
function ColumnHead<R>({ column: { id, title, numeric }, sort, onSort }: HeadProps<R>) {
  const isDescending = sort?.by === id ? sort.isDescending : null
  return (
    <div
      role="columnheader"
      data-numeric={numeric}
      aria-sort={isDescending === null ? 'none' : isDescending ? 'descending' : 'ascending'}
    >
      {title === '' ? (
        <VisuallyHidden>{text.table.actions}</VisuallyHidden> // a column of buttons has no sort order
      ) : (
        <UnstyledButton className="sort" onClick={() => onSort(nextSort(id, isDescending))}>
          {title}
          <span aria-hidden="true">{isDescending === null ? '' : isDescending ? ' ↓' : ' ↑'}</span>
        </UnstyledButton>
      )}
    </div>
  )
}

function nextSort(by: string, isDescending: boolean | null): Sort | null {
  if (isDescending === null) return { by, isDescending: false }
  return isDescending ? null : { by, isDescending: true }
}
