import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import { defineCode } from '../../kernel/base/errors.ts'
import type { ObjectKey } from '../../kernel/control/managed-objects.ts'
import { requireCapability } from '../../kernel/control/peers.ts'
import type { Call, Resource } from '../../kernel/http/route.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Clients } from '../clients/exports.ts'
import { newClients, UnderAttack } from './entities.ts'
import { toObjectKey, waitForAll } from './object-kind.ts'
import type { SwitchBody, SwitchRecord } from './schema.ts'
import {
  openSwitchCleanup,
  openSwitchRows,
  type Services as RowServices,
  type SwitchCleanup
} from './switch-rows.ts'
import { capability, defaults } from './wire.ts'

export const unsupported = defineCode('under_attack_unsupported_by_client', 422, 3)

export interface Services extends RowServices {
  readonly clients: Clients
}

/** Turns the switch on and off, and lists where it is on. */
export interface Switches extends SwitchCleanup {
  /** Turns the switch on in the whole scope, or nowhere if an agent lacks the capability. Restarts it where it is on. */
  on(scope: Scope, body: SwitchBody, call: OperatorCall): Promise<SwitchRecord[]>
  /** Turns the switch off. Does nothing where it is off. */
  off(scope: Scope, call: OperatorCall): Promise<void>
  list(): Promise<SwitchRecord[]>
}

/** One client, or all clients and those that enroll later. */
type Scope = { readonly client: string } | 'all'

type OperatorCall = Pick<Call, 'change' | 'principal'>

export function openSwitches(deps: Services): Switches {
  const { store, clock, control, clients } = deps
  const { put, drop } = openSwitchRows(deps)

  async function findClientIds(scope: Scope, em: EntityManager): Promise<string[]> {
    const found = scope === 'all' ? await em.find(Client, {}) : [await clients.get(scope.client, em)]
    for (const client of found) requireCapability(client, capability, unsupported)
    return [...found.map(({ id }) => id), ...(scope === 'all' ? [newClients] : [])]
  }

  async function on(
    scope: Scope,
    body: SwitchBody,
    { change, principal }: OperatorCall
  ): Promise<SwitchRecord[]> {
    const { for_secs, connections, new_connections, within_secs } = { ...defaults, ...body }
    const { rows, deliveries } = await change(resourceOf(scope), async em => {
      const now = clock.now()
      const rows = (await findClientIds(scope, em)).map(
        (clientId): UnderAttack => ({
          clientId,
          reason: body.reason ?? null,
          madeBy: principal.userId,
          connections,
          fromMs: now,
          untilMs: now + for_secs * 1000,
          newConnections: new_connections,
          withinSecs: within_secs
        })
      )
      await put(rows, em)
      return { rows, deliveries: await control.objects.deliverAll(em, onAgents(rows), 'push') }
    })
    await waitForAll(deliveries)
    return store.read(em => records(rows, em))
  }

  async function off(scope: Scope, { change }: OperatorCall): Promise<void> {
    const deliveries = await change(resourceOf(scope), async em => {
      if (scope !== 'all') await clients.get(scope.client, em)
      const where = scope === 'all' ? {} : { clientId: scope.client }
      const rows = await em.find(UnderAttack, where)
      await drop(rows, 'request', em)
      return control.objects.deliverAll(em, onAgents(rows), 'remove')
    })
    await waitForAll(deliveries)
  }

  const list = (): Promise<SwitchRecord[]> =>
    store.read(async em => {
      const where = { untilMs: { $gt: clock.now() } }
      const options = { orderBy: { clientId: 'asc' } } as const
      return records(await em.find(UnderAttack, where, options), em)
    })

  return { on, off, list, ...openSwitchCleanup(deps) }
}

const onAgents = (rows: readonly UnderAttack[]): ObjectKey[] =>
  rows.filter(({ clientId }) => clientId !== newClients).map(toObjectKey)

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

const resourceOf = (scope: Scope): Resource => ({
  kind: 'under_attack',
  id: scope === 'all' ? newClients : scope.client,
  async version(em) {
    const id = scope === 'all' ? newClients : scope.client
    const found = await em.findOne(UnderAttack, { clientId: id })
    return found && [found.fromMs, found.untilMs]
  }
})
