import { Button, Group, Menu, NativeSelect, Text, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { maxRows } from '../../api/call.ts'
import { count } from '../../format.ts'
import { text } from '../../text/text.ts'
import type { Column, Sort } from './rows.ts'

interface Props<R> {
  readonly what: string
  readonly words: string
  readonly onSearch: (words: string) => void
  readonly columns: readonly Column<R>[]
  readonly hidden: ReadonlySet<string>
  readonly toggle: (columnId: string) => void
  readonly isNarrow: boolean
  readonly sort: Sort | null
  readonly onSort: (sort: Sort | null) => void
  readonly found: number // rows
  readonly total: number
  readonly selected: number
  readonly actions: ReactNode
}

/** Search, column menu, number of rows, and actions on the selection. */
export const TableTools = <R,>(props: Props<R>) => {
  const { what, words, onSearch, isNarrow, found, total, selected, actions } = props
  return (
    <Group mb="sm" gap="sm">
      <TextInput
        type="search"
        aria-label={text.table.search(what)}
        placeholder={text.table.search(what)}
        value={words}
        onChange={event => onSearch(event.currentTarget.value)}
        miw={isNarrow ? 140 : 220}
        flex={isNarrow ? 1 : undefined}
      />
      {isNarrow ? <SortSelect {...props} /> : <ColumnMenu {...props} />}
      <Text c="dimmed" size="sm" role="status">
        {total >= maxRows ? text.table.most(count(maxRows)) : text.table.rows(count(found), count(total))}
      </Text>
      {actions !== undefined && selected > 0 && (
        <Group gap="xs" ml="auto">
          <Text size="sm" fw={600}>
            {text.table.selected(count(selected))}
          </Text>
          {actions}
        </Group>
      )}
    </Group>
  )
}

/** Cards have no column heads to click. */
const SortSelect = <R,>({ columns, hidden, sort, onSort }: Props<R>) => (
  <NativeSelect
    aria-label={text.table.sort}
    value={sort?.by ?? ''}
    onChange={({ currentTarget: { value } }) =>
      onSort(value === '' ? null : { by: value, isDescending: false })
    }
    data={[
      { value: '', label: text.table.sort },
      ...columns
        .filter(({ id, title }) => title !== '' && !hidden.has(id))
        .map(({ id, title }) => ({ value: id, label: title }))
    ]}
    w={120}
  />
)

const ColumnMenu = <R,>({ columns, hidden, toggle }: Pick<Props<R>, 'columns' | 'hidden' | 'toggle'>) => (
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
