// Versions and last connections of clients, from the store.

import { isAtLeast } from '../../../kernel/base/version-range.ts'
import { ownVersion } from '../../../kernel/platform/version.ts'
import { defineCheck, type Finding } from '../../cli/check-exports.ts'
import { conflictShownMs } from '../../clients/exports.ts'
import { formatAge, listNames } from '../finding-text.ts'

const hourMs = 3_600_000
const offlineMs = 7 * 24 * hourMs

type FindingId = 'clients.older' | 'clients.newer' | 'clients.unseen' | 'clients.offline' | 'clients.conflict'

interface Row {
  readonly name: string
  readonly version: string | null
  readonly enrolled: number
  readonly seen: number | null
}

interface Conflict {
  readonly name: string
  readonly addresses: string | readonly string[] // PostgreSQL parses JSON
}

export const clients = defineCheck<FindingId>({
  name: 'clients',
  roles: ['server'],
  findings: {
    'clients.older': {
      status: 'warn',
      when: 'an agent is older than the server',
      remedy: 'update the agent: the server refuses features that it does not support'
    },
    'clients.newer': {
      status: 'warn',
      when: 'an agent is newer than the server',
      remedy: 'update the server first: it does not know the features of newer agents'
    },
    'clients.unseen': {
      status: 'warn',
      when: 'a client was enrolled more than an hour ago but never connected',
      remedy:
        'start its agent (sluice agent run), or run sluice agent doctor on its host; or remove the client: sluice client delete'
    },
    'clients.offline': {
      status: 'warn',
      when: 'a client has been offline for a week',
      remedy: 'run sluice agent doctor on its host; or remove the client: sluice client delete'
    },
    'clients.conflict': {
      status: 'fail',
      when: 'two agents use the bundle of one client, so one of them has no control stream; a host was copied',
      remedy:
        'stop the agent on the copy and enroll it under its own name: sluice client enroll NAME; if you do not know the copy, the token was stolen: sluice client re-enroll CLIENT'
    }
  },
  async run({ now, query }) {
    const conflicts = await query<Conflict>(
      'clients_instance_conflict',
      `select client.name, conflict.remote_addrs as addresses from clients_instance_conflict conflict
       join kernel_client client on client.id = conflict.client_id
       where conflict.seen_at > ${now - conflictShownMs} order by client.name`
    )
    const rows = await query<Row>(
      'kernel_client',
      `select name, agent_version as version, enrolled_at as enrolled, last_seen_at as seen
       from kernel_client where revoked_at is null and token_hash is not null order by name`
    )
    const found: Finding<FindingId>[] = []
    const ours = ownVersion()
    const report = (
      id: FindingId,
      rows: readonly Row[],
      text: (row: Row) => string,
      prefix: string
    ): void => {
      if (rows.length > 0) found.push({ id, message: `${prefix}: ${listNames(rows.map(text))}` })
    }
    const withVersion = ({ name, version }: Row): string => `${name} ${version}`
    const isOlder = ({ version }: Row): boolean => version !== null && !isAtLeast(version, ours)
    const isNewer = ({ version }: Row): boolean => version !== null && !isAtLeast(ours, version)
    report('clients.older', rows.filter(isOlder), withVersion, 'older than this server')
    report('clients.newer', rows.filter(isNewer), withVersion, 'newer than this server')
    const unseen = rows.filter(({ seen, enrolled }) => seen === null && enrolled < now - hourMs)
    report('clients.unseen', unseen, ({ name }) => name, 'never connected')
    const offline = rows.filter(({ seen }) => seen !== null && seen < now - offlineMs)
    report(
      'clients.offline',
      offline,
      ({ name, seen }) => `${name} for ${formatAge(now - (seen ?? 0))}`,
      'offline'
    )
    const addressesOf = ({ addresses }: Conflict): string =>
      (typeof addresses === 'string' ? (JSON.parse(addresses) as string[]) : addresses).join(' and ')
    if (conflicts.length > 0)
      found.unshift({
        id: 'clients.conflict',
        message: listNames(conflicts.map(conflict => `${conflict.name} from ${addressesOf(conflict)}`))
      })
    return found.length > 0
      ? found
      : [{ ok: `${rows.length} enrolled, none with another known version than ${ours}` }]
  }
})

export const approvals = defineCheck({
  name: 'approvals',
  roles: ['server'],
  findings: {
    'approvals.waiting': {
      status: 'warn',
      when: 'a client has waited for an approval for more than an hour, so it has no rules',
      remedy: 'run sluice client approve CLIENT; or, if you do not know the host: sluice client revoke CLIENT'
    }
  },
  async run({ now, query }) {
    const rows = await query<{ name: string }>(
      'clients_admission',
      `select client.name from clients_admission admission
       join kernel_client client on client.id = admission.client_id
       where admission.pending_since < ${now - hourMs} and client.revoked_at is null order by client.name`
    )
    if (rows.length === 0) return [{ ok: 'no client waits for an approval' }]
    return [{ id: 'approvals.waiting', message: listNames(rows.map(({ name }) => name)) }]
  }
})

export const enrollments = defineCheck({
  name: 'enrollments',
  roles: ['server'],
  findings: {
    'enrollments.expired': {
      status: 'warn',
      when: 'the last enrollment code for a name expired within the last week, unused',
      remedy:
        'issue another code: sluice client enroll NAME; if the command failed on the host, run sluice agent doctor there'
    }
  },
  async run({ now, query }) {
    const rows = await query<{ name: string }>(
      'enrollment',
      `select name, max(created_at) from enrollment
       group by name having max(coalesce(used_at, 0)) = 0 and max(expires_at) < ${now}
       and name not in (select name from kernel_client where token_hash is not null) order by name`
    )
    if (rows.length === 0) return [{ ok: 'no code has expired unused' }]
    return [{ id: 'enrollments.expired', message: `never used: ${listNames(rows.map(({ name }) => name))}` }]
  }
})
