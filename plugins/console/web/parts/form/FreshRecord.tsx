import { type QueryKey, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Versioned } from '../../api/call.ts'
import { QueryResult } from '../QueryResult.tsx'

interface Props<T> {
  readonly queryKey: QueryKey
  readonly read: () => Promise<Versioned<T>>
  readonly children: (opened: Versioned<T>) => ReactNode
}

/** Reads the current version of a record, then renders its form. */
export function FreshRecord<T>({ queryKey, read, children }: Props<T>) {
  const query = useQuery({ queryKey: queryKey, queryFn: read, staleTime: 0, gcTime: 0 })
  return <QueryResult query={query}>{children}</QueryResult>
}
