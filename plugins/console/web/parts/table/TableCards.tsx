import { Checkbox } from '@mantine/core'
import { Fragment } from 'react'
import { text } from '../../text/text.ts'
import { Cards } from '../Cards.tsx'
import { type Marks, mark } from './marks.ts'
import type { Column } from './rows.ts'

interface Props<R> {
  readonly what: string
  readonly rows: readonly R[]
  readonly columns: readonly Column<R>[]
  readonly idOf: (row: R) => string
  readonly marks: Marks | null // null: rows cannot be selected
}

/** The rows of a table as cards: the first column is the title, columns without a title are actions. */
export const TableCards = <R,>({ what, rows, columns, idOf, marks }: Props<R>) => (
  <Cards
    label={what}
    rows={rows}
    toCard={row => {
      const id = idOf(row)
      const [first, ...others] = columns.map(column => ({ ...column, shown: shownIn(column, row) }))
      return {
        key: id,
        title: first?.shown,
        before: marks && (
          <Checkbox
            size="sm"
            aria-label={text.table.select(String(first?.value(row) ?? id))}
            checked={marks.marked.has(id)}
            onChange={event => mark(marks, [id], event.currentTarget.checked)}
          />
        ),
        actions: others
          .filter(({ title }) => title === '')
          .map(column => <Fragment key={column.id}>{column.shown}</Fragment>),
        facts: others
          .filter(({ title }) => title !== '')
          .map(column => [column.title, column.value(row) === '' ? '' : column.shown] as const)
      }
    }}
  />
)

const shownIn = <R,>({ value, cell }: Column<R>, row: R) => (cell ? cell(row) : value(row))
