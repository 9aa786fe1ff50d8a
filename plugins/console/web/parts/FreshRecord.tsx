import { type QueryKey, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Versioned } from '../api/call.ts'
import { Loaded } from './QueryResult.tsx'

interface Props<T> {
  readonly of: QueryKey
  readonly read: () => Promise<Versioned<T>>
  readonly children: (opened: Versioned<T>) => ReactNode
}

/** A form of a record, which is read as it is when the form opens. */
export function Opened<T>({ of, read, children }: Props<T>) {
  const query = useQuery({ queryKey: of, queryFn: read, staleTime: 0, gcTime: 0 })
  return <Loaded query={query}>{children}</Loaded>
}
