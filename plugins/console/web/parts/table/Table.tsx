import { type ReactNode, useMemo, useState } from 'react'
import { text } from '../../text/text.ts'
import { EmptyState } from '../EmptyState.tsx'
import { useNarrow } from '../use-narrow.ts'
import { type Column, type Sort, searchRows, sortRows } from './rows.ts'
import { TableCards } from './TableCards.tsx'
import { TableGrid } from './TableGrid.tsx'
import { TableTools } from './TableTools.tsx'
import { useColumns } from './use-columns.ts'

const fewRows = 5 // a search of so few rows helps nobody

export interface TableProps<R> {
  readonly name: string // key under which the browser stores the hidden columns
  readonly what: string // 'rules'
  readonly rows: readonly R[]
  readonly columns: readonly Column<R>[]
  readonly idOf: (row: R) => string
  readonly empty: ReactNode // shown if there are no rows; a text is shown as an empty state
  /** The search text and its setter, if the page stores it. */
  readonly search?: readonly [words: string, set: (words: string) => void]
  /** Actions on the selected rows. Rows can be selected only if it is set. */
  readonly actions?: (selected: readonly R[], clear: () => void) => ReactNode
}

/** A list of any length with search, sort, columns and selection. */
export function Table<R>({ name, what, rows, columns, idOf, empty, search, actions }: TableProps<R>) {
  const ownSearch = useState('')
  const [words, setWords] = search ?? ownSearch
  const [sort, setSort] = useState<Sort | null>(null)
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set())
  const isNarrow = useNarrow()
  const { shown, hidden, toggle } = useColumns(name, columns)
  const found = useMemo(() => searchRows(rows, columns, words), [rows, columns, words])
  const sorted = useMemo(() => sortRows(found, columns, sort), [found, columns, sort])
  const selected = useMemo(() => rows.filter(row => marked.has(idOf(row))), [rows, marked, idOf])
  const marks = actions ? { marked, setMarked, hasSelection: selected.length > 0 } : null
  if (rows.length === 0) return typeof empty === 'string' ? <EmptyState what={empty} /> : empty
  return (
    <>
      {(rows.length > fewRows || words !== '' || selected.length > 0) && (
        <TableTools
          what={what}
          words={words}
          onSearch={setWords}
          columns={columns}
          hidden={hidden}
          toggle={toggle}
          isNarrow={isNarrow}
          sort={sort}
          onSort={setSort}
          found={found.length}
          total={rows.length}
          selected={selected.length}
          actions={actions?.(selected, () => setMarked(new Set()))}
        />
      )}
      {sorted.length === 0 ? (
        <EmptyState what={text.table.none} />
      ) : isNarrow ? (
        <TableCards what={what} rows={sorted} columns={shown} idOf={idOf} marks={marks} />
      ) : (
        <TableGrid
          what={what}
          rows={sorted}
          columns={shown}
          idOf={idOf}
          sort={sort}
          onSort={setSort}
          marks={marks}
        />
      )}
    </>
  )
}
