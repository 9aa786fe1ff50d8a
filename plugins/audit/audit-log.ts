import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import { Fault, invalidTimeRange } from '../../kernel/base/errors.ts'
import type { Metrics } from '../../kernel/metrics.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import { withoutReply } from '../../kernel/store/without-reply.ts'
import { type Decision, type DecisionSink, parseTime } from '../http/exports.ts'
import { formatCursor, parseCursor } from './cursor.ts'
import { Entry } from './entities.ts'
import { openRefusals, type Refusals } from './refusals.ts'
import { type keys, openRetention, type Retention } from './retention.ts'
import type { EntryRow, Page, Query } from './schema.ts'

const defaultLimit = 100

/** Writes and reads the audit log. */
export interface AuditLog extends Pick<Refusals, 'load' | 'flush'>, Pick<Retention, 'tidy'> {
  readonly sink: DecisionSink
  readonly metrics: Metrics
  /** Returns one page, newest entries first. */
  page(query: Query): Promise<Page>
  /** Ends a running retention and writes the pending counts. */
  release(): Promise<void>
}

export function openAuditLog(kernel: Kernel<typeof keys>): AuditLog {
  const { store } = kernel
  const refusals = openRefusals(kernel)
  const retention = openRetention(kernel)
  const entriesWritten = { allow: 0, deny: 0 }

  const sink: DecisionSink = {
    async write(decision, em) {
      const entry = toEntry(decision)
      const added = isRefusal(entry) ? refusals.add(decision, entry) : entry
      if (!added) return
      await em.insert(Entry, added, withoutReply(em))
      afterCommit(em, () => {
        entriesWritten[added.outcome]++
        retention.countEntry(added)
      })
    },
    async complete(id, status, reason, em) {
      await em.nativeUpdate(Entry, { id }, { status, reason })
    }
  }

  async function page(query: Query): Promise<Page> {
    await refusals.flush()
    const { limit = defaultLimit } = query
    const found = await store.read(em => rows(toConditions(query), limit + 1, em))
    const entries = found.slice(0, limit).map(row => ({ ...row, changes: JSON.parse(row.changes ?? 'null') }))
    const last = found.length > limit ? entries.at(-1) : undefined
    return {
      entries: entries.map(row => ({ ...row, timestamp: timestamp(row.timestamp) })),
      ...(last && { next_cursor: formatCursor(last) }),
      count: entries.length
    }
  }

  const metrics: Metrics = async () => [
    {
      name: 'svc_audit_entries_total',
      type: 'counter',
      help: 'Entries written to the audit log; aggregated refusals count as one.',
      labels: ['outcome'],
      samples: Object.entries(entriesWritten).map(([outcome, value]) => ({ labelValues: [outcome], value }))
    }
  ]

  return {
    sink,
    page,
    metrics,
    load: refusals.load,
    flush: refusals.flush,
    tidy: retention.tidy,
    async release() {
      await retention.stop()
      await refusals.flush()
    }
  }
}

/** Refusals are aggregated, so that a flood neither fills the disk nor pushes out other entries. */
const isRefusal = ({ outcome, reason }: Entry): boolean => outcome === 'deny' || reason != null

const toEntry = (decision: Decision): Entry => ({
  ...decision,
  path: decision.path.slice(0, 512),
  resourceId: decision.resourceId?.slice(0, 255) ?? null,
  resourceName: decision.resourceName?.slice(0, 63) ?? null,
  count: 1
})

interface Condition {
  readonly sql: string
  readonly values: readonly (string | number)[]
}

function toConditions({
  outcome,
  actor,
  action,
  resource,
  request_id,
  since,
  until,
  cursor
}: Query): readonly Condition[] {
  const from = since === undefined ? null : parseTime(since)
  const to = until === undefined ? null : parseTime(until)
  if (from != null && to != null && from > to)
    throw new Fault(invalidTimeRange, 'since must not be later than until', {
      details: { field: '/since', reason: 'range' }
    })
  const position = cursor ? parseCursor(cursor) : null
  return [
    ...(outcome === undefined ? [] : [{ sql: 'outcome = ?', values: [outcome] }]),
    ...(actor === undefined ? [] : [{ sql: 'actor = ?', values: [actor] }]),
    ...(action === undefined ? [] : [actionCondition(action)]),
    ...(resource === undefined
      ? []
      : [{ sql: '(resource_id = ? or resource_name = ?)', values: [resource, resource] }]),
    ...(request_id === undefined ? [] : [{ sql: 'request_id = ?', values: [request_id] }]),
    ...(from == null ? [] : [{ sql: 'timestamp >= ?', values: [from] }]),
    ...(to == null ? [] : [{ sql: 'timestamp <= ?', values: [to] }]),
    ...(position ? [{ sql: '(timestamp, id) < (?, ?)', values: [position.timestamp, position.id] }] : [])
  ]
}

/** 'rule.*' becomes a range of names, which can use the index: '/' sorts after '.'. */
const actionCondition = (action: string): Condition =>
  action.endsWith('.*')
    ? { sql: 'action >= ? and action < ?', values: [action.slice(0, -1), `${action.slice(0, -2)}/`] }
    : { sql: 'action = ?', values: [action] }

/** A row with the names of the API; `timestamp` is in ms. */
interface Row extends Omit<EntryRow, 'timestamp' | 'changes'> {
  readonly timestamp: number
  readonly changes: string | null // JSON
}

const columns =
  'id, timestamp, actor, role, auth_method, remote_addr, method, path, action, ' +
  "resource_kind, resource_id, case resource_kind when 'rule' then resource_name end as rule_name, " +
  'outcome, status, reason, changes, request_id, count'

const rows = (conditions: readonly Condition[], limit: number, em: EntityManager): Promise<Row[]> =>
  em.execute<Row[]>(
    `select ${columns} from audit_entry
     where ${['1 = 1', ...conditions.map(({ sql }) => sql)].join(' and ')}
     order by timestamp desc, id desc limit ?`,
    [...conditions.flatMap(({ values }) => values), limit]
  )
