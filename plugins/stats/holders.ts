// Whose each rule is, also of one that is gone, until its agent has reported all of it.
import type { EntityManager } from '@mikro-orm/sql'
import type { Principal } from '../../kernel/http/principal.ts'
import { HeldObject } from '../../kernel/identity/entities.ts'
import { operatorId } from '../../kernel/identity/identity.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Rules } from '../rules/rules.ts'
import { StatsEpoch, StatsHolder, StatsRow, StatsTotal } from './entities.ts'

export interface Holder {
  readonly clientId: string
  readonly owner: string
}

export type Holders = ReturnType<typeof openHolders>

const everyone: Principal = { userId: operatorId, role: 'superadmin', method: 'none' }
const pageSize = 500

export function openHolders({
  store,
  clock,
  rules
}: Pick<Kernel, 'store' | 'clock'> & { readonly rules: Rules }) {
  const made = rules.list({}, everyone)
  let newest: string | null = null
  let gone = new Map<string, number>() // id to when it was first missed, ms

  /** Rules that were made since the last time: ids ascend. */
  async function learn(): Promise<void> {
    for (let isMore = true; isMore; ) {
      const page = await store.read(em => made.page(newest, pageSize, em))
      const found = page.map(({ row }) => ({
        ruleId: row.rule_id,
        clientId: row.client_id,
        owner: row.owner
      }))
      if (found.length > 0)
        await store.change(em => em.upsertMany(StatsHolder, found, { onConflictAction: 'ignore' }))
      newest = page.at(-1)?.key ?? newest
      isMore = page.length === pageSize
    }
  }

  async function of(ruleIds: readonly string[], em: EntityManager): Promise<ReadonlyMap<string, Holder>> {
    const found = await em.find(StatsHolder, { ruleId: { $in: [...ruleIds] } })
    return new Map(found.map(({ ruleId, clientId, owner }) => [ruleId, { clientId, owner }]))
  }

  /** Each hour: what was missed the last time, and whose agent has said all since, is forgotten. */
  async function forget(): Promise<void> {
    const missing = await missed()
    const now = clock.now()
    for (const { ruleId, clientId } of missing) {
      const since = gone.get(ruleId)
      if (since === undefined) continue
      await store.change(async em => {
        if ((await em.count(StatsEpoch, { clientId, completedAt: { $gt: since } })) === 0) return
        await em.nativeDelete(StatsHolder, { ruleId })
        await em.nativeDelete(StatsTotal, { ruleId })
        await em.nativeDelete(StatsRow, { clientId, epoch: { $in: await epochsOf(clientId, em) }, ruleId })
      })
    }
    gone = new Map(missing.map(({ ruleId }) => [ruleId, gone.get(ruleId) ?? now]))
  }

  /** Rules that are neither stored nor on an agent. */
  async function missed(): Promise<{ ruleId: string; clientId: string }[]> {
    const found: { ruleId: string; clientId: string }[] = []
    for (let after = '', isMore = true; isMore; ) {
      await store.read(async em => {
        const known = await em.find(
          StatsHolder,
          { ruleId: { $gt: after } },
          { orderBy: { ruleId: 'asc' }, limit: pageSize }
        )
        const stored = new Set((await made.page(after, pageSize, em)).map(({ key }) => key))
        const absent = known.filter(({ ruleId }) => !stored.has(ruleId))
        const held = await em.find(HeldObject, { id: { $in: absent.map(({ ruleId }) => ruleId) } })
        found.push(...absent.filter(({ ruleId }) => !held.some(({ id }) => id === ruleId)))
        after = known.at(-1)?.ruleId ?? after
        isMore = known.length === pageSize
      })
    }
    return found
  }

  return { learn, of, forget }
}

const epochsOf = async (clientId: string, em: EntityManager): Promise<string[]> =>
  (await em.find(StatsEpoch, { clientId })).map(({ epoch }) => epoch)

/** In the transaction that deletes the client. */
export async function forgetClient(clientId: string, em: EntityManager): Promise<void> {
  await em.nativeDelete(StatsRow, { clientId })
  await em.nativeDelete(StatsTotal, { clientId })
  await em.nativeDelete(StatsEpoch, { clientId })
  await em.nativeDelete(StatsHolder, { clientId })
}
