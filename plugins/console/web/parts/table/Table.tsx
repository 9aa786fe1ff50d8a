import { Button, Checkbox, Group, Menu, Text, TextInput, UnstyledButton, VisuallyHidden } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useMemo, useRef, useState } from 'react'
import { maxRows } from '../../api/call.ts'
import { count } from '../../format.ts'
import { text } from '../../text/text.ts'
import { Empty } from '../EmptyState.tsx'
import { type Column, found, type Sort, sorted } from './rows.ts'
import { useColumns } from './use-columns.ts'

interface Props<R> {
  readonly name: string // by which the browser remembers the columns
  readonly what: string // 'rules'
  readonly rows: readonly R[]
  readonly columns: readonly Column<R>[]
  readonly idOf: (row: R) => string
  readonly empty: ReactNode // in place of no rows
  /** The words that are searched for, where the page keeps them. */
  readonly search?: readonly [words: string, set: (words: string) => void]
  /** With it rows can be selected: what can be done to these. */
  readonly actions?: (selected: readonly R[], clear: () => void) => ReactNode
}

const rowHeight = 44
const overscan = 12

/**
 * A list of any length: search, sort, columns, selection. Only the rows that are seen are in the page. Those of a <table>
 * cannot be placed one by one, so roles say what they are.
 */
export function Table<R>({ name, what, rows, columns, idOf, empty, search, actions }: Props<R>) {
  const own = useState('')
  const [words, setWords] = search ?? own
  const [sort, setSort] = useState<Sort | null>(null)
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set())
  const narrow = useMediaQuery('(max-width: 48em)') ?? false
  const { shown, hidden, toggle } = useColumns(name, columns, narrow)
  const matching = useMemo(() => found(rows, columns, words), [rows, columns, words])
  const inOrder = useMemo(() => sorted(matching, columns, sort), [matching, columns, sort])
  const selected = useMemo(() => rows.filter(row => marked.has(idOf(row))), [rows, marked, idOf])
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: inOrder.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan
  })
  if (rows.length === 0) return empty

  const mark = (ids: readonly string[], on: boolean): void => {
    const next = new Set(marked)
    for (const id of ids) on ? next.add(id) : next.delete(id)
    setMarked(next)
  }
  const isAll = selected.length > 0 && inOrder.every(row => marked.has(idOf(row)))
  const style = gridOf(
    shown.map(({ width = 10 }) => width),
    { hasMarks: actions !== undefined, narrow }
  )

  return (
    <>
      <Group mb="sm" gap="sm">
        <TextInput
          type="search"
          aria-label={text.table.search(what)}
          placeholder={text.table.search(what)}
          value={words}
          onChange={event => setWords(event.currentTarget.value)}
          miw={220}
          flex={narrow ? 1 : undefined}
        />
        {!narrow && <Columns columns={columns} hidden={hidden} toggle={toggle} />}
        <Text c="dimmed" size="sm" role="status">
          {rows.length >= maxRows
            ? text.table.most(count(maxRows))
            : text.table.rows(count(inOrder.length), count(rows.length))}
        </Text>
        {actions && selected.length > 0 && (
          <Group gap="xs" ml="auto">
            <Text size="sm" fw={600}>
              {text.table.selected(count(selected.length))}
            </Text>
            {actions(selected, () => setMarked(new Set()))}
          </Group>
        )}
      </Group>
      {inOrder.length === 0 ? (
        <Empty what={text.table.none} />
      ) : (
        <div
          className="table"
          ref={scroller}
          role="table"
          aria-label={what}
          aria-rowcount={inOrder.length + 1}
          tabIndex={0}
        >
          <div role="rowgroup" className="head-group">
            <div role="row" className="head" aria-rowindex={1} style={style}>
              {actions && (
                <div role="columnheader">
                  <Checkbox
                    size="xs"
                    aria-label={text.table.selectAll}
                    checked={isAll}
                    indeterminate={!isAll && selected.length > 0}
                    onChange={() => mark(inOrder.map(idOf), !isAll)}
                  />
                </div>
              )}
              {shown.map(column => (
                <ColumnHead key={column.id} column={column} sort={sort} onSort={setSort} />
              ))}
            </div>
          </div>
          <div role="rowgroup" className="body" style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map(({ index, start }) => {
              const row = inOrder[index]
              if (row === undefined) return null
              const id = idOf(row)
              return (
                <div
                  key={id}
                  role="row"
                  aria-rowindex={index + 2}
                  style={{ ...style, transform: `translateY(${start}px)` }}
                >
                  {actions && (
                    <div role="cell">
                      <Checkbox
                        size="xs"
                        aria-label={text.table.select(String(shown[0]?.value(row) ?? id))}
                        checked={marked.has(id)}
                        onChange={event => mark([id], event.currentTarget.checked)}
                      />
                    </div>
                  )}
                  {shown.map(({ id: column, value, cell, numeric }) => (
                    <div key={column} role="cell" data-numeric={numeric}>
                      {cell ? cell(row) : value(row)}
                    </div>
                  ))}
                </div>
              )
            })}
          </div>
        </div>
      )}
    </>
  )
}

/** Each row is a grid of its own: the same widths make columns of them. */
function gridOf(
  widths: readonly number[],
  { hasMarks, narrow }: { readonly hasMarks: boolean; readonly narrow: boolean }
) {
  const columns = widths.map(width => `minmax(${narrow ? 0 : width}rem, ${width}fr)`)
  const least = widths.reduce((sum, width) => sum + width + 1, hasMarks ? 4 : 1.5)
  return {
    gridTemplateColumns: [...(hasMarks ? ['1.5rem'] : []), ...columns].join(' '),
    ...(!narrow && { minWidth: `${least}rem` })
  }
}

interface HeadProps<R> {
  readonly column: Column<R>
  readonly sort: Sort | null
  readonly onSort: (sort: Sort | null) => void
}

/** A click sorts up, a second one down, a third one not. */
function ColumnHead<R>({ column: { id, title, numeric }, sort, onSort }: HeadProps<R>) {
  const down = sort?.by === id ? sort.down : null
  const next = down === null ? { by: id, down: false } : down ? null : { by: id, down: true }
  return (
    <div
      role="columnheader"
      data-numeric={numeric}
      aria-sort={down === null ? 'none' : down ? 'descending' : 'ascending'}
    >
      {title === '' ? (
        <VisuallyHidden>{text.table.actions}</VisuallyHidden> // what can be done to a row is nothing to sort by
      ) : (
        <UnstyledButton className="sort" onClick={() => onSort(next)}>
          {title}
          <span aria-hidden="true">{down === null ? '' : down ? ' ↓' : ' ↑'}</span>
        </UnstyledButton>
      )}
    </div>
  )
}

interface ColumnsProps<R> {
  readonly columns: readonly Column<R>[]
  readonly hidden: ReadonlySet<string>
  readonly toggle: (id: string) => void
}

const Columns = <R,>({ columns, hidden, toggle }: ColumnsProps<R>) => (
  <Menu closeOnItemClick={false} position="bottom-start">
    <Menu.Target>
      <Button variant="default">{text.table.columns}</Button>
    </Menu.Target>
    <Menu.Dropdown>
      {columns.slice(1).map(
        ({ id, title }) =>
          title !== '' && (
            <Menu.Item
              key={id}
              role="menuitemcheckbox"
              aria-checked={!hidden.has(id)}
              rightSection={hidden.has(id) ? '' : '✓'}
              onClick={() => toggle(id)}
            >
              {title}
            </Menu.Item>
          )
      )}
    </Menu.Dropdown>
  </Menu>
)
