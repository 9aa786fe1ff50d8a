// The managed object that delivers bans to agents.
import { defineObjectKind, type ObjectKey } from '../../kernel/control/managed-objects.ts'
import { Ban } from './entities.ts'
import { BanRemove, BanSet, banKind, capability, type Ban as WireBan } from './wire.ts'

export const toObjectKey = ({ clientId, id }: Pick<Ban, 'clientId' | 'id'>): ObjectKey => ({
  clientId,
  kind: banKind,
  id
})

const toWireBan = (ban: Ban): WireBan => ({
  id: ban.id,
  source: ban.source,
  rule_id: ban.ruleId,
  cause: ban.cause,
  from_ms: ban.fromMs,
  until_ms: ban.untilMs,
  times: ban.times,
  live: ban.live
})

export const kind = defineObjectKind({
  kind: banKind,
  capability,
  push: BanSet,
  remove: BanRemove,
  isLoadedTogether: true,
  async load(rows, em) {
    const revisions = new Map(rows.map(({ id, revision }) => [id, revision]))
    const bans = await em.find(Ban, { id: { $in: [...revisions.keys()] }, isSent: true })
    return new Map(bans.map(ban => [ban.id, { revision: revisions.get(ban.id) ?? 0, ban: toWireBan(ban) }]))
  },
  async owners(rows, em) {
    const bans = await em.find(Ban, { id: { $in: rows.map(({ id }) => id) }, owner: { $ne: '' } })
    return new Map(bans.map(({ id, owner }) => [id, owner]))
  },
  removal: ({ id, revision }) => ({ id, revision })
})
