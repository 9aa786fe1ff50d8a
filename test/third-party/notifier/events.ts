// The causes of notes. Each note is queued in the transaction that stores its cause.
import { type EntityManager, quota, rules, seesAll } from 'sluice/plugin'
import { queue } from './delivery.ts'
import type { Deps } from './deps.ts'
import { Choice, WatchedClient } from './entities.ts'

async function aboutClient(id: string, event: string, text: string, { clients }: Deps, em: EntityManager) {
  const { name } = await clients.get(id, em)
  return { event, text: `${name}: ${text}`, client_id: id, client_name: name }
}

export const failedRules = rules.stateSlot.fillWith((deps: Deps) => async (change, em) => {
  const { id, parent: ruleId = id, clientId, owner, reason, state } = change
  if (state !== 'failed') return
  const name = (await deps.rules.loadNames([ruleId], em)).get(ruleId) ?? ruleId
  const about = await aboutClient(clientId, 'rule.failed', `rule ${name} has failed (${reason})`, deps, em)
  await queue(owner, 'rule', { ...about, rule_id: ruleId, reason }, deps, em)
})

export const quotaLevels = quota.levelSlot.fillWith((deps: Deps) => async (level, em) => {
  const { userId, clientId, percent, bytesUsed: bytes_used, monthlyBytes: monthly_bytes } = level
  const about = await aboutClient(clientId, 'quota.level', `quota used to ${percent} %`, deps, em)
  await queue(userId, 'quota', { ...about, percent, bytes_used, monthly_bytes }, deps, em)
})

const maxClients = 50 // of one transaction

/** Returns a function that compares the connected clients with what users know, and queues notes about the differences. */
export function openClientWatch(deps: Deps): () => Promise<void> {
  const { clients, clock, config, control, store } = deps
  let missingSince: ReadonlyMap<string, number> = new Map() // by client, on the monotonic clock

  return async () => {
    const online = new Set(control.peers.all().map(({ clientId }) => clientId))
    const rows = await store.read(em => em.find(WatchedClient, {}))
    const known = new Map(rows.map(({ id, isOffline }) => [id, isOffline]))
    const unknown = [...online].filter(id => !known.has(id))
    const approved = await store.read(em =>
      clients.matching({}, { among: unknown, take: unknown.length }, em)
    )
    const back = [...online].filter(id => known.get(id) === true)
    const missing = [...known.keys()].filter(id => !online.has(id))
    const now = clock.monotonic()
    missingSince = new Map(missing.map(id => [id, missingSince.get(id) ?? now]))
    const isLongMissing = (id: string) => now - (missingSince.get(id) ?? now) >= config.offline_secs * 1000
    const gone = missing.filter(id => known.get(id) === false && isLongMissing(id))
    const ids = [...approved, ...back, ...gone].slice(0, maxClients)
    if (ids.length === 0) return
    await store.change(async em => {
      const existing = await clients.matching({}, { among: ids, take: ids.length }, em)
      await em.nativeDelete(WatchedClient, { id: { $in: ids.filter(id => !existing.includes(id)) } })
      for (const id of existing) await em.upsert(WatchedClient, { id, isOffline: !online.has(id) })
      const told = existing.filter(id => known.has(id))
      await tell(told, online, deps, em)
    })
  }
}

/** Queues notes for all users who see the clients. The operator of the token is no user, and sees all. */
async function tell(ids: readonly string[], online: ReadonlySet<string>, deps: Deps, em: EntityManager) {
  for (const { userId } of await em.find(Choice, {})) {
    const user = await deps.users.find(em, userId)
    const seen = !user || seesAll(user) ? 'all' : await deps.clients.visibleIds(userId, em)
    for (const id of ids.filter(id => seen === 'all' || seen.includes(id))) {
      const state = online.has(id) ? 'online' : 'offline'
      await queue(userId, 'client', await aboutClient(id, `client.${state}`, state, deps, em), deps, em)
    }
  }
}
