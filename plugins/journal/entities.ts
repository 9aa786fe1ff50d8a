import { defineEntity, p } from '@mikro-orm/core'

/** An event of a subject. The subject is a rule id, a client id, or 'CLIENT_ID OWNER'. */
export const JournalEntry = defineEntity({
  name: 'JournalEntry',
  tableName: 'journal_entry',
  indexes: [
    { name: 'journal_entry_subject_ts_id_index', properties: ['subject', 'ts', 'id'] },
    { name: 'journal_entry_ts_index', properties: ['ts'] }
  ],
  properties: {
    id: p.string().length(26).primary(),
    subject: p.string().length(60),
    ts: p.bigint('number'), // ms since 1970, UTC
    kind: p.string().length(16),
    // JSON text
    fromValue: p.text(),
    toValue: p.text(),
    cause: p.string().length(64).nullable(),
    requestId: p.string().length(64).nullable(),
    details: p.text()
  }
})
