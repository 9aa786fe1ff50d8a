import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { type Row, rows, versioned } from '../../api/call.ts'

export type Client = Row<'GET /v1/clients'>
export const useClients = () => useQuery({ queryKey: ['clients'], queryFn: () => rows('GET /v1/clients') })

export const readClient = (client_id: string) =>
  versioned('GET /v1/clients/{client_id}', { path: { client_id } })

export type ClientsById = ReadonlyMap<string, Client>

/** All visible clients by id; empty until they are read. */
export function useClientsById(): ClientsById {
  const { data } = useClients()
  return useMemo(() => new Map(data?.map(client => [client.client_id, client])), [data])
}
