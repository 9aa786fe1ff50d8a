import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { call, type Row, rows } from '../../api/call.ts'
import { useMe } from '../../api/me.ts'
import { count } from '../../format.ts'
import { text } from '../../text/text.ts'
import { type Edge, useEdges, useEdgesById } from '../clients/queries.ts'
import { pages } from '../pages.ts'
import { useRules } from '../rules/queries.ts'
import { downTargets, shownStateOf } from '../rules/shown-state.ts'

export interface Line {
  readonly key: string
  readonly tone: 'warn' | 'bad'
  readonly words: string
  readonly to: string | null // the list that it counts
}

type Quota = Row<'GET /v1/quotas'>

const nearEnd = 0.8
const refusalsForMs = 3_600_000
const mostRefusals = 100

/** What needs a look: nothing is asked for that the caller may not read. */
export function useAttention(): { readonly lines: readonly Line[]; readonly isKnown: boolean } {
  const edges = useEdges()
  const byId = useEdgesById()
  const rules = useRules()
  const quotas = useQuotas()
  const refusals = useRefusals()
  const lines = useMemo(() => {
    const states = Map.groupBy(rules.data ?? [], rule => shownStateOf(rule, byId))
    const ofState = (state: 'failed' | 'partial' | 'pending') =>
      line(state, state === 'failed' ? 'bad' : 'warn', states.get(state)?.length ?? 0, {
        words: text.attention[state],
        to: `/rules?state=${state}`
      })
    const down = (rules.data ?? []).filter(rule => downTargets(rule, byId).length > 0)
    return [
      ...awayLine(edges.data ?? []),
      ...ofState('failed'),
      ...ofState('partial'),
      ...ofState('pending'),
      ...line('targets', 'bad', down.length, { words: text.attention.targets, to: '/rules?targets=down' }),
      ...quotaLines(quotas),
      ...line('refusals', 'warn', refusals, {
        words: text.attention.refusals,
        to: existing('/audit', '?outcome=deny')
      })
    ]
  }, [edges.data, rules.data, byId, quotas, refusals])
  return { lines, isKnown: edges.data !== undefined && rules.data !== undefined }
}

const line = (
  key: string,
  tone: Line['tone'],
  n: number,
  { words, to }: { readonly words: (n: string) => string; readonly to: string | null }
): readonly Line[] =>
  n === 0
    ? []
    : [{ key, tone, words: words(n >= mostRefusals && key === 'refusals' ? `${n}+` : count(n)), to }]

/** Few are named, and lead to themselves. */
function awayLine(edges: readonly Edge[]): readonly Line[] {
  const away = edges.filter(({ state }) => state === 'disconnected')
  const [only] = away
  if (!only) return []
  if (away.length === 1)
    return [
      {
        key: 'away',
        tone: 'bad',
        words: text.attention.edge(only.client_name),
        to: `/edges/${only.client_id}`
      }
    ]
  return line('away', 'bad', away.length, { words: text.attention.edges, to: '/edges?state=disconnected' })
}

function quotaLines(quotas: readonly Quota[]): readonly Line[] {
  const near = quotas.filter(
    ({ exhausted, bytes_used, monthly_bytes }) => !exhausted && bytes_used >= monthly_bytes * nearEnd
  )
  const ended = quotas.filter(({ exhausted }) => exhausted)
  const to = existing('/quotas')
  return [
    ...line('ended', 'bad', ended.length, { words: text.attention.quotasEnded, to }),
    ...line('near', 'warn', near.length, { words: text.attention.quotasNear, to })
  ]
}

/** A page whose plugin is off is not led to. */
const existing = (path: string, query = ''): string | null =>
  pages.some(page => page.path === path) ? path + query : null

const none: readonly Quota[] = []

function useQuotas(): readonly Quota[] {
  const me = useMe().data
  const { data } = useQuery({
    queryKey: ['quotas', 'attention', me?.user_id],
    enabled: me != null,
    refetchInterval: 30_000,
    queryFn: () =>
      me?.role === 'superadmin'
        ? rows('GET /v1/quotas')
        : rows('GET /v1/users/{user_id}/quotas', { path: { user_id: me?.user_id ?? '' } })
  })
  return data ?? none
}

/** Calls that were denied in the last hour. */
function useRefusals(): number {
  const isSuperadmin = useMe().data?.role === 'superadmin'
  const { data } = useQuery({
    queryKey: ['audit', 'attention'],
    enabled: isSuperadmin,
    refetchInterval: 30_000,
    queryFn: async () => {
      const found = await call('GET /v1/audit', { query: { outcome: 'deny', limit: mostRefusals } })
      const entries = Array.isArray(found) ? found : found.entries
      return entries.filter(({ timestamp }) => Date.parse(timestamp) > Date.now() - refusalsForMs).length
    }
  })
  return data ?? 0
}
