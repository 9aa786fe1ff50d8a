import { type Static, Type } from 'typebox'
import { defineMessage, defineRequest } from '../../kernel/wire/message.ts'

const proto = new URL('./journal.proto', import.meta.url)

const Value = Type.String({ maxLength: 264 }) // a state, or host:port

const Entry = Type.Object({
  id: Type.String({ pattern: '^[0-7][0-9A-HJKMNP-TV-Z]{25}$' }),
  rule_id: Type.String({ maxLength: 26 }),
  at_ms: Type.Integer({ minimum: 0, maximum: 8.64e15 }),
  kind: Type.Union([
    Type.Literal('state'),
    Type.Literal('failover'),
    Type.Literal('target'),
    Type.Literal('edge')
  ]),
  from: Value,
  to: Value,
  cause: Type.String({ maxLength: 64 }),
  target: Value
})
export type ReportedEntry = Static<typeof Entry>

export const maxEntries = 200 // of at most 1,000 bytes: a frame holds 256 KiB

const EntriesStored = defineMessage({ name: 'sluice.journal.EntriesStored', proto, body: Type.Object({}) })
export const JournalEnabled = defineMessage({
  name: 'sluice.journal.JournalEnabled',
  proto,
  body: Type.Object({})
})

export const Report = defineRequest({
  name: 'sluice.journal.Report',
  proto,
  body: Type.Object({ entries: Type.Array(Entry, { maxItems: maxEntries }) }),
  response: EntriesStored
})

/** The part of Welcome with JournalEnabled. */
export const welcomePart = 'journal'

export const messages = [Report, EntriesStored, JournalEnabled]
