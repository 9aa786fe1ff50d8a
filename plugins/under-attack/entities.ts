import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** The switch of one client, or of those that enroll while it is on for all; until it ends or is turned off. */
export const UnderAttack = defineEntity({
  name: 'UnderAttack',
  tableName: 'under_attack',
  properties: {
    clientId: p.string().length(26).primary(), // newClients: those that enroll
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
