import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

const time = () => p.bigint('number') // ms since 1970, UTC

/** The last reports about an object, so that it is not reported too often. */
export const NotifyObject = defineEntity({
  name: 'NotifyObject',
  tableName: 'notify_object',
  indexes: [
    { name: 'notify_object_due_at_index', properties: ['dueAt'] },
    { name: 'notify_object_keep_until_index', properties: ['keepUntil'] }
  ],
  properties: {
    subject: p.string().length(32).primary(), // the kind, or what several kinds are about
    object: p.string().length(128).primary(),
    state: p.string().length(32), // '' is the state that nobody needs to know of
    kind: p.string().length(32).nullable(), // reports the state; null: it is not reported
    reported: p.string().length(32), // the last reported state
    since: time(), // of the state
    dueAt: time().nullable(), // when the state is to be reported, if it lasts
    keepUntil: time().nullable(), // null: as long as the state lasts
    name: p.string().length(100),
    owner: p.string().length(32).nullable(),
    reportedAt: p.json().$type<Readonly<Record<string, number>>>() // by kind
  }
})
export type NotifyObject = InferEntity<typeof NotifyObject>

/** Events of one kind within a short time, as one message. */
export const NotifyMessage = defineEntity({
  name: 'NotifyMessage',
  tableName: 'notify_message',
  indexes: [
    { name: 'notify_message_closes_at_index', properties: ['closesAt'] },
    { name: 'notify_message_kind_at_index', properties: ['kind', 'at'] },
    { name: 'notify_message_owner_id_index', properties: ['owner', 'id'] }
  ],
  properties: {
    id: p.string().length(26).primary(),
    kind: p.string().length(32),
    at: time(), // of the first event
    closesAt: time().nullable(), // until then events join; null: closed, and handed to the channels
    owner: p.string().length(32).nullable() // of all its objects; null: of several owners, or of none
  }
})
export type NotifyMessage = InferEntity<typeof NotifyMessage>

/** The part of a message about objects of one owner. */
export const NotifyPart = defineEntity({
  name: 'NotifyPart',
  tableName: 'notify_part',
  indexes: [{ name: 'notify_part_owner_message_index', properties: ['owner', 'message'] }],
  properties: {
    message: p.string().length(26).primary(),
    owner: p.string().length(32).primary(), // '': nobody
    count: p.integer(),
    names: p.json().$type<readonly string[]>()
  }
})
export type NotifyPart = InferEntity<typeof NotifyPart>

/** A message on its way to a channel. */
export const NotifyDelivery = defineEntity({
  name: 'NotifyDelivery',
  tableName: 'notify_delivery',
  indexes: [
    { name: 'notify_delivery_channel_state_next_at_index', properties: ['channel', 'state', 'nextAt'] }
  ],
  properties: {
    message: p.string().length(26).primary(),
    channel: p.string().length(32).primary(),
    state: p.string().length(9).$type<'waiting' | 'delivered' | 'failed'>(),
    owner: p.string().length(32).nullable(), // of the message
    attempts: p.integer(),
    firstAt: time().nullable(), // of the attempts
    nextAt: time(), // during an attempt: when it counts as lost
    error: p.string().length(255).nullable()
  }
})
export type NotifyDelivery = InferEntity<typeof NotifyDelivery>

/** A rule that has failed or recovered since the last round. */
export const NotifyRule = defineEntity({
  name: 'NotifyRule',
  tableName: 'notify_rule',
  properties: {
    rule: p.string().length(26).primary(),
    owner: p.string().length(32),
    failure: p.string().length(64).nullable(), // the code of the last failure; '': it has none; null: it has recovered only
    isFailed: p.boolean() // now
  }
})
export type NotifyRule = InferEntity<typeof NotifyRule>

/** How far the kind `expires_soon` has asked a plugin. */
export const NotifyExpiry = defineEntity({
  name: 'NotifyExpiry',
  tableName: 'notify_expiry',
  properties: {
    plugin: p.string().length(32).primary(),
    reportedUntil: time() // moments up to this time were reported
  }
})
export type NotifyExpiry = InferEntity<typeof NotifyExpiry>

/** A configured channel with its last results. */
export const NotifyChannel = defineEntity({
  name: 'NotifyChannel',
  tableName: 'notify_channel',
  properties: {
    name: p.string().length(32).primary(),
    plainHost: p.string().length(255).nullable(), // gets messages without TLS, over a network; for doctor
    lastSuccessAt: time().nullable(),
    lastError: p.string().length(255).nullable() // since the last success
  }
})
export type NotifyChannel = InferEntity<typeof NotifyChannel>
