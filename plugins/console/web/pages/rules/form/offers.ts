// Capabilities of the selected clients, and permissions of the user there.
import { useQuery } from '@tanstack/react-query'
import { type Row, rows } from '../../../api/call.ts'
import { useMe } from '../../../api/me.ts'
import type { Schema } from '../../../parts/schema-form/schema.ts'
import type { Client } from '../../clients/queries.ts'

type Requirement = NonNullable<Schema['x-requires']>

export const udp: Requirement = { id: 'rule.udp', since: '0.4.0' }
export const severalTargets: Requirement = { id: 'rule.multi-target', since: '0.7.0' }

/** Decides like the server. A client that never connected counts as capable. */
function isCapable({ agent_version, capabilities }: Client, { id, since }: Requirement): boolean {
  if (agent_version === null) return true
  return isAtLeast(capabilities === null ? agent_version : (capabilities[id] ?? ''), since)
}

function isAtLeast(version: string, since: string): boolean {
  const actual = parseVersion(version)
  const required = parseVersion(since)
  if (actual.length !== 3 || required.length !== 3) return false
  for (const [i, n] of actual.entries()) if (n !== required[i]) return n > (required[i] ?? 0)
  return true
}

const parseVersion = (version: string): readonly number[] =>
  (/^\d+[.]\d+[.]\d+/.exec(version)?.[0] ?? '').split('.').map(Number)

/** Returns the clients that lack a required capability. */
export const clientsLacking = (
  clients: readonly Client[],
  required: Requirement | undefined
): readonly Client[] => (required ? clients.filter(client => !isCapable(client, required)) : [])

export type Grant = Row<'GET /v1/users/me/grants'>

/** Returns the grants of the user; null if grants do not limit the user, and until they are read. */
export function useGrants(use: Grant['use']): readonly Grant[] | null {
  const isLimited = useMe().data?.role === 'user'
  const { data } = useQuery({
    queryKey: ['grants', 'own'],
    queryFn: () => rows('GET /v1/users/me/grants'),
    enabled: isLimited
  })
  return isLimited ? (data?.filter(grant => grant.use === use) ?? null) : null
}

const everyClient = '*'

/** Returns what the grants allow on all of the clients; null if nothing limits the user. */
export function allowedOn(clients: readonly Client[], grants: readonly Grant[] | null) {
  if (grants === null || clients.length === 0) return null
  const own = clients.map(({ client_id }) =>
    grants.filter(grant => grant.client_id === client_id || grant.client_id === everyClient)
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
