import { useQuery } from '@tanstack/react-query'
import { growing, type Row } from '../../api/client.ts'

export type Rule = Row<'GET /v1/rules'>
export const useRules = () => useQuery({ queryKey: ['rules'], queryFn: growing('GET /v1/rules') })

/** 'paris:8443', or a range, or of a group how many edges. */
export const portsOf = ({ listen_port: first, listen_port_end: last }: Rule): string =>
  last === null ? String(first) : `${first}–${last}`

export const targetsOf = ({ targets }: Rule): string =>
  targets
    .map(
      ({ host, port, port_end: end }) =>
        `${host.includes(':') ? `[${host}]` : host}:${port}${end === null ? '' : `–${end}`}`
    )
    .join(', ')
