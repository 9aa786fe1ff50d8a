// Queries one client for a page of its open connections.
import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import type { Peer } from '../../kernel/control/peers.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Refused } from '../../kernel/wire/message.ts'
import { connectionPathsSlot, openRefusedRows, type RefusedRow, type Rules } from '../rules/exports.ts'
import type { ConnectionRow } from './schema.ts'
import { List, maxRows, type Row, type Selection, type Sort } from './wire.ts'

export interface Services extends Kernel {
  readonly rules: Rules
}

export const deadlineMs = 3_000

/** A filter with the clients and rules of its caller resolved. */
export interface ResolvedFilter {
  readonly clients: ReadonlySet<string> | null // clients that may have matching connections; null: all
  /** Returns the selection for a client; a group rule becomes its member there. */
  selectionOn(clientId: string): Selection
}

/** The last row of the previous page: its key, client and id. */
export interface Position {
  readonly key: number
  readonly clientId: string
  readonly id: number
}

export interface ConnectionEntry extends Position {
  readonly row: ConnectionRow
}

/** One response of a client. */
export interface Page {
  readonly matched: number
  readonly bytes_in: number
  readonly bytes_out: number
  readonly entries: readonly ConnectionEntry[]
  readonly next: Position | null // null: no more rows
}

/** Compares for the order of a list: largest key first. */
export const descending = (a: Position, b: Position): number =>
  b.key - a.key || (a.clientId < b.clientId ? 1 : a.clientId > b.clientId ? -1 : b.id - a.id)

interface PageRequest {
  readonly selection: Selection
  readonly sort: Sort
  readonly take: number
  readonly after: Position | null
}

export interface ClientQuery {
  /** Returns the first rows after a position, at most `maxRows`, and the sums over all matches. Throws Refused. */
  page(peer: Peer, request: PageRequest): Promise<Page>
  /** Returns the first rows after a position, in several requests if needed; fewer if the client does not answer. */
  rows(peer: Peer, request: PageRequest): Promise<ConnectionEntry[]>
  /** Logs a refusal, and rethrows any other error. */
  logNoAnswer(peer: Peer, error: unknown): void
}

/** Converts an agent's rows to API rows. Takes owners from the store, and drops and logs rows of other clients' rules. */
function openRowReader({ store, clock, log, rules, filled }: Services) {
  const logRefused = openRefusedRows({ clock, log })

  async function showPaths(rows: readonly Row[], clientId: string, em: EntityManager) {
    const [paths] = filled(connectionPathsSlot)
    const carried = rows.map(({ path = null }) => ({ clientId, path }))
    return (await paths?.value.show(carried, em)) ?? []
  }

  return async ({ clientId }: Peer, run: string, rows: readonly Row[]): Promise<ConnectionEntry[]> => {
    const ids = [...new Set(rows.map(({ rule_id }) => rule_id))]
    const { known, shownIds, shown } = await store.read(async em => ({
      known: await rules.loadScopes(ids, em),
      shownIds: await rules.shownIds(ids, em),
      shown: await showPaths(rows, clientId, em)
    }))
    const refused: RefusedRow[] = []
    const entries = rows.flatMap((row, at) => {
      const rule = known.get(row.rule_id)
      if (rule && rule.clientId !== clientId)
        refused.push({ report: 'connections', reason: 'rule', rule: row.rule_id })
      if (rule?.clientId !== clientId) return []
      const { owner, name } = rule
      const owned = {
        clientId,
        run,
        owner,
        ruleId: shownIds.get(row.rule_id) ?? row.rule_id,
        ruleName: name ?? null
      }
      return [
        { key: row.key, clientId, id: row.id, row: { ...toApiRow(row, owned, clock.now()), ...shown[at] } }
      ]
    })
    logRefused(clientId, refused)
    return entries
  }
}

export function openClientQuery(services: Services): ClientQuery {
  const readRows = openRowReader(services)

  async function page(peer: Peer, { selection, sort, take, after }: PageRequest): Promise<Page> {
    const start = after && startOnClient(peer.clientId, after)
    const asked = {
      selection,
      sort,
      limit: Math.min(maxRows, take),
      ...(start && { after_key: start.key, after_id: start.id })
    }
    const { run, rows, ...sums } = await peer.request(List, asked, { deadlineMs })
    const last = rows.length < asked.limit ? undefined : rows.at(-1)
    return {
      ...sums,
      entries: await readRows(peer, run, rows),
      next: last ? { clientId: peer.clientId, key: last.key, id: last.id } : null
    }
  }

  async function rows(peer: Peer, { take, ...wanted }: PageRequest): Promise<ConnectionEntry[]> {
    const all: ConnectionEntry[] = []
    try {
      for (
        let after: Position | null | undefined = wanted.after;
        after !== undefined && all.length < take;
      ) {
        const { entries, next } = await page(peer, { ...wanted, after, take: take - all.length })
        all.push(...entries)
        after = next ?? undefined
      }
    } catch (error) {
      logNoAnswer(peer, error)
    }
    return all
  }

  function logNoAnswer({ clientId }: Peer, error: unknown): void {
    if (!(error instanceof Refused)) throw error
    services.log.debug('connections.no_answer', error.message, { client: clientId })
  }

  return { page, rows, logNoAnswer }
}

/** Maps a position to one client. Among equal keys, rows of clients with a smaller id come later. */
function startOnClient(clientId: string, { key, clientId: last, id }: Position): { key: number; id: number } {
  if (clientId === last) return { key, id }
  return { key, id: clientId < last ? Number.MAX_SAFE_INTEGER : 0 }
}

interface RowContext extends Pick<ConnectionRow, 'owner'> {
  readonly clientId: string
  readonly run: string
  readonly ruleId: string // the group rule, for a member
  readonly ruleName: string | null
}

const toApiRow = (
  row: Row,
  { clientId, run, owner, ruleId, ruleName }: RowContext,
  now: number
): ConnectionRow => ({
  connection_id: `${clientId}-${run}-${row.id.toString(36)}`,
  client_id: clientId,
  rule_id: ruleId,
  rule_name: ruleName,
  owner,
  protocol: row.protocol,
  source: row.source,
  listen: row.listen,
  target: row.target === '' ? null : row.target,
  divert: row.divert ?? null,
  opened_at: timestamp(Math.max(0, now - row.age_ms)),
  bytes_in: row.bytes_in,
  bytes_out: row.bytes_out,
  idle_secs: row.idle_ms / 1000,
  rtt_ms: pickLegs(row, 'rtt_ms'),
  retransmits: pickLegs(row, 'retransmits'),
  held_by: row.held_by === '' ? null : row.held_by
})

const pickLegs = ({ caller, server }: Row, name: 'rtt_ms' | 'retransmits') =>
  caller || server ? { caller: caller?.[name] ?? null, target: server?.[name] ?? null } : null
