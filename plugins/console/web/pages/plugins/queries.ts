import { useQuery } from '@tanstack/react-query'
import { type Row, rows } from '../../api/call.ts'

export type Plugin = Row<'GET /v1/plugins'>

export const usePlugins = () => useQuery({ queryKey: ['plugins'], queryFn: () => rows('GET /v1/plugins') })
