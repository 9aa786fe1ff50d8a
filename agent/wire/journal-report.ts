import { type Static, Type } from 'typebox'
import { Count, defineMessage, defineRequest, Entries } from '../../kernel/wire/message.ts'
import { type ColumnCounts, type Counts, columns, fromColumns, toColumns } from './counters.ts'

const proto = new URL('./journal-report.proto', import.meta.url)

const Epoch = Type.String({ pattern: '^[0-9a-f]{32}$' })
const Time = Type.Number({ minimum: 0, maximum: 8.64e15 }) // the range of a Date
const RuleId = Type.String({ maxLength: 26 })
const RuleCounts = Object.fromEntries(columns.map(column => [column, Count])) as {
  readonly [C in keyof ColumnCounts]: typeof Count // of all columns
}

export const ReportRow = Type.Object({
  rule_id: RuleId,
  kind: Type.String({ maxLength: 16 }),
  key: Type.String({ maxLength: 264 }),
  ...RuleCounts
})
export type ReportRow = Static<typeof ReportRow>

/** A row of the journal: the totals of one key within an epoch. */
export interface JournalRow extends Counts {
  readonly ruleId: string
  readonly kind: string
  readonly key: string
}

export const encodeRow = (row: JournalRow): ReportRow => ({
  rule_id: row.ruleId,
  kind: row.kind,
  key: row.key,
  ...toColumns(row)
})

export const decodeRow = (row: ReportRow): JournalRow => ({
  ruleId: row.rule_id,
  kind: row.kind,
  key: row.key,
  ...fromColumns(row)
})

/** The key of a row of the kind 'target'. */
export const targetKey = ({ host, port }: { readonly host: string; readonly port: number }): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`

const Live = Type.Object({
  rule_id: RuleId,
  port: Type.Integer({ minimum: 0, maximum: 65_535 }),
  connections: Count
})

/** The open connections or flows on a port of a rule. */
export interface ActivePort {
  readonly ruleId: string
  readonly port: number
  readonly connections: number
}

export const encodeActive = ({ ruleId, ...active }: ActivePort) => ({ rule_id: ruleId, ...active })
export const decodeActive = ({ rule_id: ruleId, ...active }: Static<typeof Live>): ActivePort => ({
  ruleId,
  ...active
})

const Committed = defineMessage({
  name: 'sluice.stats.Committed',
  proto,
  body: Type.Object({ epoch: Epoch, seq: Count, server_time_ms: Type.Optional(Time) })
})

// Limits of a part: 500 rows of at most 400 bytes and 1,000 active ports fit into a frame.
export const maxRows = 500
export const maxLive = 1_000

export const StatsReport = defineRequest({
  name: 'sluice.stats.StatsReport',
  proto,
  body: Type.Object({
    epoch: Epoch,
    seq: Count,
    part: Count,
    last: Type.Boolean(),
    rows: Type.Array(ReportRow, { maxItems: maxRows }),
    live: Type.Array(Live, { maxItems: maxLive }),
    gap: Type.Optional(Type.Object({ from_ms: Time, to_ms: Time }))
  }),
  response: Committed
})
export type StatsReport = Static<(typeof StatsReport)['body']>

export const epochsSent = 1000 // an agent has few: one for each start until it is committed

/** The committed seq of each epoch. */
export const CommittedEpochs = defineMessage({
  name: 'sluice.stats.CommittedEpochs',
  proto,
  body: Type.Object({ committed: Entries(Count, epochsSent) })
})

const Reported = defineMessage({ name: 'sluice.stats.Reported', proto, body: Type.Object({}) })

/** Asks the agent to report now. */
export const LastReport = defineRequest({
  name: 'sluice.stats.LastReport',
  proto,
  body: Type.Object({}),
  response: Reported
})

/** The part of Welcome with CommittedEpochs. */
export const welcomePart = 'stats'

export const messages = [StatsReport, Committed, CommittedEpochs, LastReport, Reported]
