// Two agents with one bundle: stored, so that every server and `doctor` show the conflict while it lasts.
import type { EntityManager } from '@mikro-orm/sql'
import { type Static, Type } from 'typebox'
import { timestamp } from '../../kernel/base/clock.ts'
import type { ConnectionHooks, InstanceConflict } from '../../kernel/control/peers.ts'
import { closed, timeOf } from '../../kernel/http/schema.ts'
import type { Metric } from '../../kernel/metrics.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Act } from '../http/exports.ts'
import { conflictShownMs } from './conflict-time.ts'
import { InstanceConflictRow } from './entities.ts'

export const InstanceConflictShown = closed(
  {
    since: timeOf('When it was first seen.'),
    remote_addrs: Type.Array(Type.String(), {
      description: 'Remote addresses of the two agents.',
      examples: [['198.51.100.7', '203.0.113.9']]
    })
  },
  { description: 'Two agents use the bundle of this client; one of them has to wait.' }
)

type Shown = Static<typeof InstanceConflictShown>

/** Returns the conflicts that last, by client; null: of all clients. */
export async function loadConflicts(
  ids: readonly string[] | null,
  now: number,
  em: EntityManager
): Promise<ReadonlyMap<string, Shown>> {
  const where = { seenAt: { $gt: now - conflictShownMs }, ...(ids && { clientId: { $in: [...ids] } }) }
  const rows = await em.find(InstanceConflictRow, where)
  return new Map(
    rows.map(({ clientId, since, remoteAddrs }) => [
      clientId,
      { since: timestamp(since), remote_addrs: [...new Set(remoteAddrs)] }
    ])
  )
}

interface Services extends Pick<Kernel, 'store' | 'clock'> {
  readonly act: Act
}

/** Stores conflicts. The audit log gets one entry when a conflict begins. */
export const conflictHooks = ({ store, clock, act }: Services): ConnectionHooks => ({
  async contested({ clientId, remoteAddrs }: InstanceConflict) {
    const now = clock.now()
    const known = await store.read(em => loadConflicts([clientId], now, em))
    if (known.has(clientId)) {
      await store.change(em =>
        em.nativeUpdate(InstanceConflictRow, { clientId }, { seenAt: now, remoteAddrs })
      )
      return
    }
    const row = { clientId, since: now, seenAt: now, remoteAddrs }
    await act('_clients', 'client.instance_conflict', ({ change }) =>
      change({ kind: 'client', id: clientId }, em => em.upsert(InstanceConflictRow, row))
    )
  }
})

export const conflictMetric = (clientIds: Iterable<string>): Metric => ({
  name: 'svc_client_instance_conflict',
  type: 'gauge',
  help: '1 while two agents use the bundle of the client; absent otherwise.',
  labels: ['client'],
  samples: [...clientIds].map(id => ({ labelValues: [id], value: 1 }))
})
