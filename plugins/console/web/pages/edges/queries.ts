import { useQuery } from '@tanstack/react-query'
import { type Row, rows } from '../../api/client.ts'

export type Edge = Row<'GET /v1/clients'>
export const useEdges = () => useQuery({ queryKey: ['edges'], queryFn: () => rows('GET /v1/clients') })
