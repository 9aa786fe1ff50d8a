// The managed object that delivers the switch to agents.
import { setImmediate } from 'node:timers/promises'
import { type Delivery, defineObjectKind, type ObjectKey } from '../../kernel/control/managed-objects.ts'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import { UnderAttack } from './entities.ts'
import { capability, SwitchRemove, SwitchSet, switchKind } from './wire.ts'

export const toObjectKey = ({ clientId }: Pick<UnderAttack, 'clientId'>): ObjectKey => ({
  clientId,
  kind: switchKind,
  id: clientId
})

export const kind = defineObjectKind({
  kind: switchKind,
  capability,
  push: SwitchSet,
  remove: SwitchRemove,
  isLoadedTogether: true,
  async load(rows, em) {
    const revisions = new Map(rows.map(({ id, revision }) => [id, revision]))
    const found = await em.find(UnderAttack, { clientId: { $in: [...revisions.keys()] } })
    return new Map(
      found.map(({ clientId: id, untilMs, connections, newConnections, withinSecs }) => [
        id,
        {
          id,
          revision: revisions.get(id) ?? 0,
          until_ms: untilMs,
          connections,
          new_connections: newConnections,
          within_secs: withinSecs
        }
      ])
    )
  },
  removal: ({ id, revision }) => ({ id, revision })
})

/** Wakes the clients in batches. Resolves when each agent has replied or timed out. */
export async function waitForAll(deliveries: readonly Delivery[]): Promise<void> {
  const results: Promise<unknown>[] = []
  for (const some of rowBatches(deliveries)) {
    results.push(...some.map(delivery => delivery.answered()))
    await setImmediate()
  }
  await Promise.all(results)
}
