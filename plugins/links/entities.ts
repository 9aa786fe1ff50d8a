import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

const time = () => p.bigint('number') // ms since 1970, UTC
const clientId = () => p.string().length(26)

/** Which client dials: the near one in a direct link, the far one in a reverse link. */
export type Direction = 'auto' | 'reverse' | 'direct'
export type LinkState = 'unused' | 'connecting' | 'up' | 'degraded' | 'down'

/** A link of an ordered pair of clients. It has a row while a rule needs it, or while a setting differs from its default. */
export const LinkRow = defineEntity({
  name: 'Link',
  tableName: 'links',
  uniques: [{ name: 'links_near_id_far_id_unique', properties: ['nearId', 'farId'] }],
  properties: {
    id: p.string().length(26).primary(),
    nearId: clientId(),
    farId: clientId().index('links_far_id_index'),
    direction: p.string().length(7).$type<Direction>(),
    hosts: p.json().$type<readonly string[] | null>().nullable(), // to dial, instead of those of the endpoint
    udpWanted: p.boolean(),
    note: p.string().length(255).nullable(),
    state: p.string().length(10).$type<LinkState>(),
    stateReason: p.string().length(64).nullable(),
    stateSince: time(),
    // Revisions of the managed object that each agent has acknowledged.
    nearRevision: p.bigint('number'),
    farRevision: p.bigint('number'),
    updatedAt: time()
  }
})
export type LinkRow = InferEntity<typeof LinkRow>

/** A rule on a client that needs the link. A group rule has one row for each member. */
export const LinkUse = defineEntity({
  name: 'LinkUse',
  tableName: 'links_use',
  properties: {
    ruleId: p.string().length(26).primary(),
    linkId: p.string().length(26).primary().index('links_use_link_id_index')
  }
})
export type LinkUse = InferEntity<typeof LinkUse>

/** The port on which a client listens for links. */
export const LinkEndpoint = defineEntity({
  name: 'LinkEndpoint',
  tableName: 'links_endpoint',
  properties: {
    clientId: clientId().primary(),
    port: p.integer(),
    hosts: p.json().$type<readonly string[] | null>().nullable() // null: the address of the client
  }
})
export type LinkEndpoint = InferEntity<typeof LinkEndpoint>

/** The link certificate of a client, as its agent has reported it. */
export const LinkKey = defineEntity({
  name: 'LinkKey',
  tableName: 'links_key',
  properties: {
    clientId: clientId().primary(),
    pin: p.string().length(64).unique('links_key_pin_unique'), // SHA-256 in hexadecimal
    nextPin: p.string().length(64).nullable().unique('links_key_next_pin_unique'), // made, but not in use yet
    remoteAddr: p.string().length(64), // of the agent at its last report
    changedAt: time() // of the pin
  }
})
export type LinkKey = InferEntity<typeof LinkKey>

/** The settings of the configuration that the links of all agents have. One row, with the id 'agents'. */
export const SentSettings = defineEntity({
  name: 'LinkSentSettings',
  tableName: 'links_sent_settings',
  properties: {
    id: p.string().length(6).primary(),
    maxIdle: p.integer(),
    deadSecs: p.integer(),
    leaseHours: p.integer()
  }
})
