import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { call, growingRows, type Row } from '../../api/call.ts'

export type Rule = Row<'GET /v1/rules'>

/** Reads rules, optionally by label selector. Long lists are polled less often; the change number covers changes. */
export const useRules = (selector = '') =>
  useQuery<readonly Rule[]>({
    queryKey: ['rules', selector],
    queryFn: growingRows('GET /v1/rules', { query: { ...(selector !== '' && { selector }) } }),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) => Math.max(5000, (data?.length ?? 0) * 6)
  })

export const useRule = (rule_id: string) =>
  useQuery({
    queryKey: ['rule', rule_id],
    queryFn: () => call('GET /v1/rules/{rule_id}', { path: { rule_id } })
  })

/** '8443' or '8443–8450' */
export const portsOf = ({
  listen_port: first,
  listen_port_end: last
}: Pick<Rule, 'listen_port' | 'listen_port_end'>): string =>
  last === null ? String(first) : `${first}–${last}`

type Address = Pick<Rule['targets'][number], 'host' | 'port'> & { readonly port_end?: number | null }

/** '10.0.0.7:80', '[2001:db8::7]:80' */
export const addressOf = ({ host, port, port_end: end = null }: Address): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}${end === null ? '' : `–${end}`}`

export const targetsOf = ({ targets }: Rule): string => targets.map(addressOf).join(', ')

/** 'paris:8443/tcp' */
export const placeOf = (rule: Rule): string => {
  const clients = rule.client_name ?? rule.edges?.map(({ client_name }) => client_name).join(', ') ?? ''
  return `${clients}:${portsOf(rule)}/${rule.protocol}`
}

/** 'paris:8443/tcp', 'web (paris:8443/tcp)' */
export const nameOf = (rule: Rule): string =>
  rule.name == null ? placeOf(rule) : `${rule.name} (${placeOf(rule)})`
