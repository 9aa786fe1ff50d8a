// Lists endpoints, and manages dead letters.
import { defineCode, type EntityManager, Fault, type Kernel, timestamp } from 'sluice/plugin'
import { Delivery } from './entities.ts'
import type { DeadRow, EndpointRow } from './schema.ts'
import type { config } from './settings.ts'

export const webhookNotFound = defineCode('webhook_not_found', 404, 8)
export const webhookNotDelivered = defineCode('webhook_not_delivered', 502, 1)
export const deadLetterNotFound = defineCode('dead_letter_not_found', 404, 8)

export interface Admin {
  list(): Promise<EndpointRow[]>
  /** Throws `webhook_not_found` unless an endpoint has this name. */
  requireEndpoint(name: string): void
  /** Pages of dead letters, the oldest first; includes those of endpoints that are no longer configured. */
  dead(endpoint: string | undefined): {
    page(after: string, take: number, em: EntityManager): Promise<{ key: string; row: DeadRow }[]>
  }
  /** Queues a dead letter again, with its attempts reset. It is delivered before newer events. */
  retry(id: string, em: EntityManager): Promise<DeadRow>
  remove(id: string, em: EntityManager): Promise<void>
}

type Services = Pick<Kernel<typeof config>, 'config' | 'store' | 'clock'>

export function openAdmin({ config: { endpoints }, store, clock }: Services): Admin {
  const list = (): Promise<EndpointRow[]> =>
    store.read(em =>
      Promise.all(
        endpoints.map(async ({ name, url, events, allow_private }) => {
          const queued = { endpoint: name, deadAt: null }
          const [first] = await em.find(Delivery, queued, { orderBy: { id: 'asc' }, limit: 1 })
          return {
            name,
            host: URL.parse(url)?.host ?? '',
            events: [...events],
            allow_private,
            waiting: await em.count(Delivery, queued),
            next_at: first ? timestamp(first.nextAt) : null,
            error: first?.error ?? null,
            dead: await em.count(Delivery, { endpoint: name, deadAt: { $ne: null } })
          }
        })
      )
    )

  function requireEndpoint(name: string): void {
    if (endpoints.some(endpoint => endpoint.name === name)) return
    throw new Fault(webhookNotFound, `no endpoint is named ${name}`)
  }

  const dead = (endpoint: string | undefined) => ({
    async page(after: string, take: number, em: EntityManager) {
      const where = {
        deadAt: { $ne: null },
        ...(endpoint !== undefined && { endpoint }),
        id: { $gt: after }
      }
      const found = await em.find(Delivery, where, { orderBy: { id: 'asc' }, limit: take })
      return found.map(row => ({ key: row.id, row: deadRowOf(row) }))
    }
  })

  async function retry(id: string, em: EntityManager): Promise<DeadRow> {
    const found = await em.findOne(Delivery, { id, deadAt: { $ne: null } })
    if (!found) return throwNotFound()
    requireEndpoint(found.endpoint)
    await em.nativeUpdate(Delivery, { id }, { deadAt: null, attempts: 0, nextAt: clock.now() })
    return deadRowOf(found)
  }

  async function remove(id: string, em: EntityManager): Promise<void> {
    if ((await em.nativeDelete(Delivery, { id, deadAt: { $ne: null } })) === 0) throwNotFound()
  }

  return { list, requireEndpoint, dead, retry, remove }
}

function throwNotFound(): never {
  throw new Fault(deadLetterNotFound, 'no dead letter has this id')
}

const deadRowOf = ({ id, endpoint, event, body, attempts, error, createdAt, deadAt }: Delivery): DeadRow => ({
  delivery_id: id,
  endpoint,
  event,
  body,
  attempts,
  error: error ?? null,
  created_at: timestamp(createdAt),
  dead_at: timestamp(deadAt ?? createdAt)
})
