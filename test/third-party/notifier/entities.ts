import { defineEntity, p, type Static, Type } from 'sluice/plugin'

export const KindName = Type.Enum(['client', 'rule', 'quota'])
export type Kind = Static<typeof KindName>

/** The notes that a user wants, the URL that gets them, and the progress of the delivery. */
export const Choice = defineEntity({
  name: 'NotifierChoice',
  tableName: 'notifier_choice',
  properties: {
    userId: p.string().length(32).primary(),
    kinds: p.json().$type<readonly Kind[]>(),
    url: p.string().length(2000), // sealed
    tries: p.integer(), // failed attempts for the oldest note
    nextAt: p.bigint('number').nullable().index('notifier_choice_next_at'), // ms since 1970; null: no note waits
    lastResult: p.string().length(32).nullable() // of the last attempt
  }
})

/** A waiting note. Its content is the body of the request. */
export const Note = defineEntity({
  name: 'NotifierNote',
  tableName: 'notifier_note',
  indexes: [{ name: 'notifier_note_user', properties: ['userId', 'id'] }],
  properties: {
    id: p.string().length(26).primary(), // a ULID, so the order is that of the events
    userId: p.string().length(32),
    content: p.json().$type<object>(),
    createdAt: p.bigint('number') // ms since 1970
  }
})

/** A client that has been online, with the state that its users know. */
export const WatchedClient = defineEntity({
  name: 'NotifierClient',
  tableName: 'notifier_client',
  properties: { id: p.string().length(26).primary(), isOffline: p.boolean() }
})
