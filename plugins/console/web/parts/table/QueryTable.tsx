import type { UseQueryResult } from '@tanstack/react-query'
import { QueryResult } from '../QueryResult.tsx'
import { Table, type TableProps } from './Table.tsx'

interface Props<R> extends Omit<TableProps<R>, 'rows'> {
  readonly query: UseQueryResult<readonly R[]>
}

/** A table of the rows that a query returns. */
export const QueryTable = <R,>({ query, ...table }: Props<R>) => (
  <QueryResult query={query}>{rows => <Table {...table} rows={rows} />}</QueryResult>
)
