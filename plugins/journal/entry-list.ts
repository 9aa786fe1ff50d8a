import { timestamp } from '../../kernel/base/clock.ts'
import { Fault, invalidSchema, invalidTimeRange } from '../../kernel/base/errors.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { type PagedRows, parseTime } from '../http/exports.ts'
import type { Rules } from '../rules/exports.ts'
import { type Entry, select } from './entries.ts'
import type { EntryRow, Query } from './schema.ts'

/** Lists the entries of a rule and its members, and those of their clients and of the owner on these clients. */
export type ListEntries = (ruleId: string, query: Query, principal: Principal) => Promise<PagedRows<EntryRow>>

export const openEntryList =
  ({ rules }: { readonly rules: Pick<Rules, 'read' | 'listMembers' | 'journalKinds'> }): ListEntries =>
  async (ruleId, query, principal) => {
    const { owner, created_at, ...record } = await rules.read(ruleId, principal)
    const name = (record['name'] ?? null) as string | null // the value of the field
    const [since, until] = parseWindow(query)
    requireKind(query.kind, rules.journalKinds())
    const from = Math.max(since, Date.parse(created_at))
    return {
      async page(after, take, em) {
        const members = await rules.listMembers(ruleId, em)
        const related = members.flatMap(({ id, clientId }) => [id, clientId, `${clientId} ${owner}`])
        const subjects = [...new Set([ruleId, ...related])]
        const [ts, id] = after.split(' ')
        const before = ts === undefined || id === undefined ? null : { ts: Number(ts), id }
        const found = await select({ subjects, since: from, until, kind: query.kind, before }, take, em)
        return found.map(entry => ({ key: `${entry.ts} ${entry.id}`, row: toRow(entry, name) }))
      }
    }
  }

function requireKind(kind: string | undefined, kinds: readonly string[]): void {
  if (kind === undefined || kinds.includes(kind)) return
  const message = `/kind must be one of ${kinds.join(', ')}, got ${JSON.stringify(kind)}`
  throw new Fault(invalidSchema, message, { details: { field: '/kind', reason: 'enum' } })
}

function parseWindow({ since, until }: Query): [since: number, until: number] {
  const from = since === undefined ? 0 : (parseTime(since) ?? 0)
  const to = until === undefined ? Number.MAX_SAFE_INTEGER : (parseTime(until) ?? Number.MAX_SAFE_INTEGER)
  if (from <= to) return [from, to]
  const details = { field: '/since', reason: 'range' }
  throw new Fault(invalidTimeRange, 'since must not be after until', { details })
}

const toRow = ({ ts, kind, from, to, cause, requestId, details }: Entry, name: string | null): EntryRow => ({
  ts: timestamp(ts),
  kind,
  from: JSON.parse(from),
  to: JSON.parse(to),
  cause,
  rule_name: name,
  request_id: requestId,
  details: JSON.parse(details)
})
