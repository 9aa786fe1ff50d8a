// What the chosen edges can do, and what the caller may do there.
import { useQuery } from '@tanstack/react-query'
import { type Row, rows } from '../../../api/call.ts'
import { useMe } from '../../../api/me.ts'
import type { Schema } from '../../../parts/schema-form/schema.ts'
import type { Edge } from '../../clients/queries.ts'

type Requirement = NonNullable<Schema['x-requires']>

export const udp: Requirement = { id: 'rule.udp', since: '0.4.0' }
export const severalTargets: Requirement = { id: 'rule.multi-target', since: '0.7.0' }

/** Whether the agent has the capability, as the server judges it; of one never seen nothing is known, and all is offered. */
export function isCapable({ agent_version, capabilities }: Edge, { id, since }: Requirement): boolean {
  if (agent_version === null) return true
  return isAtLeast(capabilities === null ? agent_version : (capabilities[id] ?? ''), since)
}

function isAtLeast(version: string, since: string): boolean {
  const [own, least] = [version, since].map(text =>
    (/^\d+[.]\d+[.]\d+/.exec(text)?.[0] ?? '').split('.').map(Number)
  )
  if (own?.length !== 3 || least?.length !== 3) return false
  for (const [i, n] of own.entries()) if (n !== least[i]) return n > (least[i] ?? 0)
  return true
}

/** Returns the edges that lack what a field requires. */
export const lacking = (edges: readonly Edge[], required: Requirement | undefined): readonly Edge[] =>
  required ? edges.filter(edge => !isCapable(edge, required)) : []

export type Grant = Row<'GET /v1/users/me/grants'>

/** The grants that limit the caller; null: none do, as for superadmins, or they are not read yet. */
export function useGrants(): readonly Grant[] | null {
  const isLimited = useMe().data?.role === 'user'
  const { data } = useQuery({
    queryKey: ['grants', 'own'],
    queryFn: () => rows('GET /v1/users/me/grants'),
    enabled: isLimited
  })
  return isLimited ? (data ?? null) : null
}

const everyEdge = '*'

/** What the grants allow on every one of the edges. */
export function allowedOn(edges: readonly Edge[], grants: readonly Grant[] | null) {
  if (grants === null || edges.length === 0) return null
  const own = edges.map(({ client_id }) =>
    grants.filter(grant => grant.client_id === client_id || grant.client_id === everyEdge)
  )
  const [first = []] = own
  return {
    isNone: own.some(some => some.length === 0),
    protocols: (['tcp', 'udp'] as const).filter(name =>
      own.every(some => some.some(({ protocols }) => protocols.includes(name)))
    ),
    ports: first.map(({ listen_port_start: from, listen_port_end: to }) =>
      from === to ? String(from) : `${from}–${to}`
    ),
    targets: first.some(({ targets }) => targets === null)
      ? null
      : [...new Set(first.flatMap(({ targets }) => targets ?? []))]
  }
}
