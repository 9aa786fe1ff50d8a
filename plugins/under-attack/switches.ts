// The switch of each client, and of those that enroll while it is on for all.
import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import { defineCode } from '../../kernel/base/errors.ts'
import { requireCapability } from '../../kernel/control/peers.ts'
import type { Call, Resource } from '../../kernel/http/route.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Clients } from '../clients/exports.ts'
import { newClients, UnderAttack } from './entities.ts'
import { deliverAll } from './object-kind.ts'
import type { SwitchBody, SwitchRecord } from './schema.ts'
import { openSwitchCleanup, openSwitchRows, type Services as RowServices } from './switch-rows.ts'
import { capability, defaults } from './wire.ts'

export const unsupported = defineCode('under_attack_unsupported_by_client', 422, 3)

export interface Services extends RowServices {
  readonly clients: Clients
}
export type Switches = ReturnType<typeof openSwitches>

/** One client, or all and those that enroll. */
export type Scope = { readonly client: string } | 'all'

type Made = Pick<Call, 'change' | 'principal'>

export function openSwitches(deps: Services) {
  const { store, clock, control, clients } = deps
  const { put, drop } = openSwitchRows(deps)

  async function findClientIds(place: Scope, em: EntityManager): Promise<string[]> {
    const found = place === 'all' ? await em.find(Client, {}) : [await clients.get(place.client, em)]
    for (const client of found) requireCapability(client, capability, unsupported)
    return [...found.map(({ id }) => id), ...(place === 'all' ? [newClients] : [])]
  }

  /** Turns the switch on, everywhere or nowhere; where it is on, it begins anew. */
  async function on(place: Scope, body: SwitchBody, { change, principal }: Made): Promise<SwitchRecord[]> {
    const { for_secs, connections, new_connections, within_secs } = { ...defaults, ...body }
    const rows = await change(resourceOf(place), async em => {
      const now = clock.now()
      const rows = (await findClientIds(place, em)).map(
        (clientId): UnderAttack => ({
          ...{ clientId, reason: body.reason ?? null, madeBy: principal.userId, connections },
          ...{ fromMs: now, untilMs: now + for_secs * 1000, newConnections: new_connections },
          withinSecs: within_secs
        })
      )
      await put(rows, em)
      return rows
    })
    const sent = rows.filter(({ clientId }) => clientId !== newClients)
    await deliverAll(sent, 'push', control)
    return store.read(em => records(rows, em))
  }

  /** Turns the switch off; where it is off, nothing happens. */
  async function off(place: Scope, { change }: Made): Promise<void> {
    const rows = await change(resourceOf(place), async em => {
      if (place !== 'all') await clients.get(place.client, em)
      const where = place === 'all' ? {} : { clientId: place.client }
      const rows = await em.find(UnderAttack, where)
      await drop(rows, 'request', em)
      return rows.filter(({ clientId }) => clientId !== newClients)
    })
    await deliverAll(rows, 'remove', control)
  }

  const list = (): Promise<SwitchRecord[]> =>
    store.read(async em => {
      const where = { untilMs: { $gt: clock.now() } }
      const options = { orderBy: { clientId: 'asc' } } as const
      return records(await em.find(UnderAttack, where, options), em)
    })

  return { on, off, list, ...openSwitchCleanup(deps) }
}

async function records(rows: readonly UnderAttack[], em: EntityManager): Promise<SwitchRecord[]> {
  const clients = await em.find(Client, { id: { $in: rows.map(({ clientId }) => clientId) } })
  const names = new Map(clients.map(({ id, name }) => [id, name]))
  return rows.map(row => ({
    client_id: row.clientId === newClients ? null : row.clientId,
    client_name: names.get(row.clientId) ?? null,
    reason: row.reason ?? null,
    made_by: row.madeBy,
    from: timestamp(row.fromMs),
    until: timestamp(row.untilMs),
    connections: row.connections,
    new_connections: row.newConnections,
    within_secs: row.withinSecs
  }))
}

export const resourceOf = (place: Scope): Resource => ({
  kind: 'under_attack',
  id: place === 'all' ? newClients : place.client,
  async version(em) {
    const id = place === 'all' ? newClients : place.client
    const found = await em.findOne(UnderAttack, { clientId: id })
    return found && [found.fromMs, found.untilMs]
  }
})
