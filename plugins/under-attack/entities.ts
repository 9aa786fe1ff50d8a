import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** The switch of one client. The row with id `newClients` is for clients that enroll while it is on for all. */
export const UnderAttack = defineEntity({
  name: 'UnderAttack',
  tableName: 'under_attack',
  properties: {
    clientId: p.string().length(26).primary(), // or `newClients`
    reason: p.string().length(256).nullable(),
    madeBy: p.string().length(32),
    fromMs: p.bigint('number'),
    untilMs: p.bigint('number'),
    connections: p.integer(),
    newConnections: p.integer(),
    withinSecs: p.integer()
  }
})
export type UnderAttack = InferEntity<typeof UnderAttack>

export const newClients = '*'
