// Sends derived objects to their clients. The last acknowledgement of a rule's objects sends the rule; a refusal undoes it.
import type { EntityManager } from '@mikro-orm/sql'
import { defineObjectKind, type ManagedObject } from '../../../kernel/control/managed-objects.ts'
import { afterCommit } from '../../../kernel/store/after-commit.ts'
import { recordRefusal } from '../delivery/agent-results.ts'
import { belongsOnAgent, objectKeyOf } from '../delivery/rule-states.ts'
import { DerivedPartRow, Rule } from '../entities.ts'
import type { Services } from '../services.ts'
import { type DerivedKinds, derivedObjectSlot } from './derived-object.ts'

type Row = Pick<ManagedObject, 'clientId' | 'kind' | 'id'>

const idsOf = (rows: readonly Row[]) => ({ $in: rows.map(({ id }) => id) })

export const openDerivedKinds = (services: Services): DerivedKinds => ({
  derivedKind: ({ kind, capability }, { push, remove }) =>
    defineObjectKind({
      kind,
      capability,
      push,
      remove,
      async load(rows, em) {
        const [{ clientId } = { clientId: '' }] = rows
        const parts = await em.find(DerivedPartRow, { rule: idsOf(rows), clientId, kind })
        const bodies = new Map(parts.map(({ rule, body }) => [rule, body as never])) // by its plugin's declaration
        return new Map(
          rows.flatMap(({ id, revision }) => {
            const body = bodies.get(id)
            return body === undefined ? [] : [[id, { id, revision, body }] as const]
          })
        )
      },
      removal: ({ id, revision, removal }) => ({ id, revision, removal: removal ?? 'cut' }),
      async owners(rows, em) {
        const parts = await em.find(
          DerivedPartRow,
          { rule: idsOf(rows), kind },
          { fields: ['rule', 'owner'] }
        )
        return new Map(parts.map(({ rule, owner }) => [rule, owner]))
      },
      async settled(rows, em) {
        const [{ clientId } = { clientId: '' }] = rows
        const parts = await em.find(DerivedPartRow, { rule: idsOf(rows), clientId, kind, isApplied: true })
        return new Set(parts.map(({ rule }) => rule))
      },
      async recordResult(row, result, em) {
        if (row.removal !== null) return
        if (result.status === 'applied') await recordApplied(services, row, em)
        if (result.status === 'refused') await recordRefused(services, row, result.code, em)
      }
    })
})

async function recordApplied({ parts, control }: Services, { id, clientId, kind }: Row, em: EntityManager) {
  const where = { rule: id, clientId, kind, isApplied: false }
  if ((await em.nativeUpdate(DerivedPartRow, where, { isApplied: true })) === 0) return
  const rule = await em.findOne(Rule, { id, state: { $ne: 'draining' } })
  if (!rule || !belongsOnAgent(rule) || (await parts.awaited([id], em)).has(id)) return
  await control.objects.put(em, objectKeyOf(rule))
  afterCommit(em, () => control.objects.wake(rule.clientId))
}

/** A rule that is in force without a pending change stays: its client already works by an earlier acknowledgement. */
async function recordRefused(
  services: Services,
  { id, clientId, kind }: Row,
  code: string,
  em: EntityManager
) {
  const { filled, log } = services
  const part = await em.findOne(DerivedPartRow, { rule: id, clientId, kind })
  const rule = await em.findOne(Rule, { id, state: { $ne: 'draining' } })
  if (!part || !rule) return
  const fields = { rule: id, rule_name: rule.name ?? undefined, client: clientId, kind, code }
  afterCommit(em, () => log.warn('rule.part_refused', 'a client refuses its part of the rule', fields))
  if (part.isApplied || part.isLeaving || (rule.state !== 'pending' && rule.before == null)) return
  const object = filled(derivedObjectSlot).find(({ value }) => value.kind === kind)?.value
  const by = { kind: object?.journalKind ?? 'change', clientId }
  const after = await recordRefusal(services, rule, { code, by }, em)
  afterCommit(em, after)
}
