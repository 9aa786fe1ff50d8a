// Deletes ephemeral clients that have been disconnected for their time. Time counts only while a server runs: the store
// has a running time, which one server advances.
import type { EntityManager } from '@mikro-orm/sql'
import { clientNotFound, Fault } from '../../kernel/base/errors.ts'
import { Client, StoreValue } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { type Act, resourceChanged } from '../http/exports.ts'
import type { ClientAdministration } from './clients.ts'
import { Admission } from './entities.ts'

export const roundMs = 30_000
const rowsPerChange = 500
const timeName = 'clients_running_ms'

interface Deps extends Pick<Kernel, 'store' | 'clock' | 'control' | 'log'> {
  readonly act: Act
  readonly clients: ClientAdministration
}

/** Returns a function that counts one round, and deletes the clients that are due. */
export function openClientExpiry(deps: Deps): () => Promise<void> {
  const { store, control, log, act, clients } = deps
  const advance = openRunningTime(deps)
  let isRunning = false

  const isConnected = (clientId: string): boolean => control.peers.find(clientId) !== undefined

  async function expire({ clientId: id, lastSessionAt = null }: Admission): Promise<void> {
    const client = await store.read(em => em.findOne(Client, { id }))
    if (!client) return
    const changes = () => [{ field: 'client_name', from: client.name, to: null }]
    const tokenHash = await act('_system', 'client.expire', ({ change }) =>
      change({ kind: 'client', id, changes }, async em => {
        const { connectedAt = null } = await clients.get(id, em)
        if (connectedAt !== lastSessionAt || isConnected(id))
          throw new Fault(resourceChanged, `client ${id} has connected at the same time`)
        const revoked = await clients.revoke(id, em)
        await clients.remove(id, em)
        return revoked
      })
    )
    clients.endSession(id, tokenHash)
    log.info('client.expired', `${client.name} was disconnected for its time and is deleted`, {
      client_id: id,
      client_name: client.name
    })
  }

  async function expireAll(due: readonly Admission[]): Promise<void> {
    for (const row of due)
      await expire(row).catch((error: unknown) => {
        const isGone = error instanceof Fault && [clientNotFound, resourceChanged].includes(error.errorCode)
        if (isGone) return
        log.warn('client.not_expired', `client ${row.clientId} was not deleted, retrying: ${String(error)}`)
      })
  }

  async function countRound(): Promise<void> {
    const runningMs = await advance()
    if (runningMs === null) return
    for (let after = ''; ; ) {
      const where = { ephemeralSecs: { $ne: null }, clientId: { $gt: after } }
      const orderBy = { clientId: 'asc' } as const
      const rows = await store.read(em => em.find(Admission, where, { orderBy, limit: rowsPerChange }))
      if (rows.length > 0)
        await expireAll(await store.change(em => judge(rows, { runningMs, isConnected }, em)))
      if (rows.length < rowsPerChange) return
      after = rows.at(-1)?.clientId ?? ''
    }
  }

  return async () => {
    if (isRunning) return
    isRunning = true
    try {
      await control.servers.onOne('clients.expiry', countRound)
    } catch (error) {
      log.warn('client.not_expired', `ephemeral clients were not checked, retrying: ${String(error)}`)
    } finally {
      isRunning = false
    }
  }
}

/**
 * Returns a function that advances the running time by the time since its last call, and returns it in ms. null without
 * ephemeral clients: then nothing is written.
 */
function openRunningTime({ store, clock }: Pick<Deps, 'store' | 'clock'>): () => Promise<number | null> {
  let advancedAt = clock.monotonic()

  return async () => {
    const elapsedMs = Math.min(clock.monotonic() - advancedAt, 2 * roundMs) // more: another server has counted
    advancedAt = clock.monotonic()
    if (!(await store.read(em => em.count(Admission, { ephemeralSecs: { $ne: null } })))) return null
    return store.change(async em => {
      const stored = await em.findOne(StoreValue, { name: timeName })
      const runningMs = Number(stored?.value ?? 0) + Math.round(elapsedMs)
      await em.upsert(StoreValue, { name: timeName, value: String(runningMs) })
      return runningMs
    })
  }
}

interface Now {
  readonly runningMs: number
  readonly isConnected: (clientId: string) => boolean
}

/** Notes which clients of a page have connected or disconnected. Returns those that are due. */
async function judge(
  rows: readonly Admission[],
  { runningMs, isConnected }: Now,
  em: EntityManager
): Promise<Admission[]> {
  const ids = rows.map(({ clientId }) => clientId)
  const clientRows = await em.find(Client, { id: { $in: ids } }, { fields: ['id', 'connectedAt'] })
  const sessions = new Map(clientRows.map(({ id, connectedAt }) => [id, connectedAt ?? null]))
  const due: Admission[] = []
  for (const row of rows) {
    const { clientId, ephemeralSecs, offlineSince = null, lastSessionAt = null } = row
    const sessionAt = sessions.get(clientId) ?? null
    const where = { clientId }
    if (isConnected(clientId)) {
      if (offlineSince !== null) await em.nativeUpdate(Admission, where, { offlineSince: null })
    } else if (offlineSince === null || lastSessionAt !== sessionAt)
      await em.nativeUpdate(Admission, where, { offlineSince: runningMs, lastSessionAt: sessionAt })
    else if (runningMs - offlineSince >= (ephemeralSecs ?? Number.POSITIVE_INFINITY) * 1000) due.push(row)
  }
  return due
}
