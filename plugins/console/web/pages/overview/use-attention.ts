import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { call } from '../../api/call.ts'
import { useMe } from '../../api/me.ts'
import { useRight } from '../../api/rights.ts'
import { count } from '../../format.ts'
import { text } from '../../text/text.ts'
import { type Client, useClients, useClientsById } from '../clients/queries.ts'
import { type Quota, toneOf, useQuotas } from '../quotas/quota.ts'
import { useRules } from '../rules/queries.ts'
import { downTargets, shownStateOf } from '../rules/shown-state.ts'

export interface Line {
  readonly key: string
  readonly tone: 'warn' | 'bad'
  readonly label: string
  readonly to: string // the list that it counts
}

const deniedWithinMs = 3_600_000
const maxDenied = 100

/** Returns the problems that the user may see. `isKnown` is false until the data is read. */
export function useAttention(): { readonly lines: readonly Line[]; readonly isKnown: boolean } {
  const clients = useClients()
  const byId = useClientsById()
  const rules = useRules()
  const me = useMe().data
  const seesAll = useRight('seesAll')
  const quotas = useQuotas(seesAll ? null : (me?.user_id ?? ''), 30_000).data
  const denied = useDeniedCount()
  const lines = useMemo(() => {
    const states = Map.groupBy(rules.data ?? [], rule => shownStateOf(rule, byId))
    const inState = (state: 'failed' | 'partial' | 'pending') =>
      line(state, state === 'failed' ? 'bad' : 'warn', states.get(state)?.length ?? 0, {
        label: text.attention[state],
        to: `/rules?state=${state}`
      })
    const down = (rules.data ?? []).filter(rule => downTargets(rule, byId).length > 0)
    return [
      ...offlineLine(clients.data ?? []),
      ...inState('failed'),
      ...inState('partial'),
      ...inState('pending'),
      ...line('targets', 'bad', down.length, { label: text.attention.targets, to: '/rules?targets=down' }),
      ...quotaLines(quotas ?? []),
      ...line('denied', 'warn', denied, {
        label: text.attention.denied,
        to: '/audit?outcome=deny'
      })
    ]
  }, [clients.data, rules.data, byId, quotas, denied])
  return { lines, isKnown: clients.data !== undefined && rules.data !== undefined }
}

const line = (
  key: string,
  tone: Line['tone'],
  n: number,
  { label, to }: { readonly label: (n: string) => string; readonly to: string }
): readonly Line[] =>
  n === 0 ? [] : [{ key, tone, label: label(n >= maxDenied && key === 'denied' ? `${n}+` : count(n)), to }]

/** A single offline client is named and linked. */
function offlineLine(clients: readonly Client[]): readonly Line[] {
  const offline = clients.filter(({ state }) => state === 'disconnected')
  const [only] = offline
  if (!only) return []
  if (offline.length === 1)
    return [
      {
        key: 'offline',
        tone: 'bad',
        label: text.attention.clientOffline(only.client_name),
        to: `/clients/${only.client_id}`
      }
    ]
  return line('offline', 'bad', offline.length, {
    label: text.attention.clientsOffline,
    to: '/clients?state=disconnected'
  })
}

function quotaLines(quotas: readonly Quota[]): readonly Line[] {
  const countOf = (tone: Line['tone']): number => quotas.filter(quota => toneOf(quota) === tone).length
  const to = '/quotas'
  return [
    ...line('ended', 'bad', countOf('bad'), { label: text.attention.quotasExhausted, to }),
    ...line('near', 'warn', countOf('warn'), { label: text.attention.quotasNear, to })
  ]
}

/** Returns the number of requests that were denied in the last hour. */
function useDeniedCount(): number {
  const seesAll = useRight('seesAll')
  const { data } = useQuery({
    queryKey: ['audit', 'attention'],
    enabled: seesAll,
    refetchInterval: 30_000,
    queryFn: async () => {
      const found = await call('GET /v1/audit', { query: { outcome: 'deny', limit: maxDenied } })
      const entries = Array.isArray(found) ? found : found.entries
      return entries.filter(({ timestamp }) => Date.parse(timestamp) > Date.now() - deniedWithinMs).length
    }
  })
  return data ?? 0
}
