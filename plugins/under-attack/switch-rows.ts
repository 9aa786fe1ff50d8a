// Writes the rows of the switch, with their deliveries and journal entries, and deletes them when they end.
import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import type { Rules } from '../rules/exports.ts'
import { newClients, UnderAttack } from './entities.ts'
import { toObjectKey } from './object-kind.ts'

export interface Services extends Kernel {
  readonly rules: Rules
}

/** Writes and deletes rows in batches, so that a change for all clients takes few statements. */
export interface SwitchRows {
  /** Inserts or replaces rows, and sends them to the agents. */
  put(rows: readonly UnderAttack[], em: EntityManager): Promise<void>
  /** Deletes rows, here and on the agents. `cause` is for the journal. */
  drop(rows: readonly UnderAttack[], cause: string, em: EntityManager): Promise<void>
}

export function openSwitchRows({ control, rules }: Services): SwitchRows {
  const addJournalEntry = (
    row: UnderAttack,
    to: 'on' | null,
    cause: string,
    em: EntityManager
  ): Promise<void> => {
    const from = to ? null : 'on'
    const details = to ? { until: timestamp(row.untilMs), reason: row.reason } : {}
    return rules.addJournalEntry(
      { about: { clientId: row.clientId }, kind: 'under_attack', from, to, cause, details },
      em
    )
  }

  async function put(rows: readonly UnderAttack[], em: EntityManager): Promise<void> {
    for (const some of rowBatches(rows, 8)) await write(some, em)
    const agentRows = rows.filter(({ clientId }) => clientId !== newClients)
    await control.objects.put(em, ...agentRows.map(toObjectKey))
    await Promise.all(agentRows.map(row => addJournalEntry(row, 'on', 'request', em))) // stored in one batch
  }

  async function drop(rows: readonly UnderAttack[], cause: string, em: EntityManager): Promise<void> {
    for (const some of rowBatches(rows))
      await em.nativeDelete(UnderAttack, { clientId: { $in: some.map(({ clientId }) => clientId) } })
    const agentRows = rows.filter(({ clientId }) => clientId !== newClients)
    await control.objects.drop(em, agentRows.map(toObjectKey), 'cut')
    await Promise.all(agentRows.map(row => addJournalEntry(row, null, cause, em)))
  }

  return { put, drop }
}

const write = (rows: readonly UnderAttack[], em: EntityManager): Promise<unknown> =>
  em.execute(
    `insert into under_attack
       (client_id, reason, made_by, from_ms, until_ms, connections, new_connections, within_secs)
     values ${rows.map(() => '(?, ?, ?, ?, ?, ?, ?, ?)')} on conflict (client_id) do update set
       reason = excluded.reason, made_by = excluded.made_by, from_ms = excluded.from_ms,
       until_ms = excluded.until_ms, connections = excluded.connections,
       new_connections = excluded.new_connections, within_secs = excluded.within_secs`,
    rows.flatMap(row => [
      row.clientId,
      row.reason ?? null,
      row.madeBy,
      row.fromMs,
      row.untilMs,
      row.connections,
      row.newConnections,
      row.withinSecs
    ]),
    'run'
  )

export interface SwitchCleanup {
  /** Gives a newly enrolled client the switch that is on for all. */
  clientChanged(client: Pick<Client, 'id'>, em: EntityManager): Promise<void>
  /** Deletes the switch of a removed client. */
  clientRemoved(client: Pick<Client, 'id'>, em: EntityManager): Promise<void>
  /** Deletes switches that have ended. Agents turn theirs off without the server. */
  tidy(): Promise<void>
}

export function openSwitchCleanup(deps: Services): SwitchCleanup {
  const { store, clock, control } = deps
  const { put, drop } = openSwitchRows(deps)

  async function clientChanged({ id }: Pick<Client, 'id'>, em: EntityManager): Promise<void> {
    const model = await em.findOne(UnderAttack, { clientId: newClients })
    if (!model || model.untilMs <= clock.now()) return
    const client = await em.findOne(Client, { id })
    const isNew = client !== null && client.agentVersion == null
    if (isNew && (await em.count(UnderAttack, { clientId: id })) === 0)
      await put([{ ...model, clientId: id }], em)
  }

  const clientRemoved = async ({ id: clientId }: Pick<Client, 'id'>, em: EntityManager): Promise<void> =>
    void (await em.nativeDelete(UnderAttack, { clientId }))

  async function tidy(): Promise<void> {
    const ended = await store.change(async em => {
      const where = { untilMs: { $lte: clock.now() } }
      const rows = await em.find(UnderAttack, where)
      await drop(rows, 'ended', em)
      return rows
    })
    for (const { clientId } of ended) if (clientId !== newClients) control.objects.wake(clientId)
  }

  return { tidy, clientChanged, clientRemoved }
}
