import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { type Row, rows } from '../../api/call.ts'

export type Edge = Row<'GET /v1/clients'>
export const useEdges = () => useQuery({ queryKey: ['edges'], queryFn: () => rows('GET /v1/clients') })

export type EdgesById = ReadonlyMap<string, Edge>

/** The edges by their ids; empty before they are read. */
export function useEdgesById(): EdgesById {
  const { data } = useEdges()
  return useMemo(() => new Map(data?.map(edge => [edge.client_id, edge])), [data])
}
