// Asks one client for a page of what is open there.
import { timestamp } from '../../kernel/base/clock.ts'
import type { Peer } from '../../kernel/control/peers.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Refused } from '../../kernel/wire/message.ts'
import { openRefusedRows, type RefusedRow, type Rules } from '../rules/exports.ts'
import type { ConnectionRow } from './schema.ts'
import { Look, maxRows, type Row, type Selection, type Sort } from './wire.ts'

export interface Services extends Kernel {
  readonly rules: Rules
}

export const deadlineMs = 3_000

/** What a filter means to a caller. */
export interface Meant {
  readonly clients: ReadonlySet<string> | null // on which there may be such connections; null: all
  /** Returns what to ask a client: of a rule on many clients its own part. */
  selectionOn(clientId: string): Selection
}

/** Where a page continues: the key and id of the last row of the page before, with its client. */
export interface Position {
  readonly key: number
  readonly clientId: string
  readonly id: number
}

export interface Found extends Position {
  readonly row: ConnectionRow
}

/** What one client has told at once. */
export interface Page {
  readonly matched: number
  readonly bytes_in: number
  readonly bytes_out: number
  readonly found: readonly Found[]
  readonly next: Position | null // null: there are no more rows
}

/** The order of a list: the largest key first. */
export const descending = (a: Position, b: Position): number =>
  b.key - a.key || (a.clientId < b.clientId ? 1 : a.clientId > b.clientId ? -1 : b.id - a.id)

export interface Wanted {
  readonly selection: Selection
  readonly sort: Sort
  readonly take: number
  readonly after: Position | null
}

export type Looking = ReturnType<typeof openLook>

/** Returns the function that makes rows of the API. The owner of a rule is what the server knows; what is not the client's is left out. */
function openShown({ store, clock, log, rules }: Services) {
  const logRefused = openRefusedRows({ clock, log })

  return async ({ clientId }: Peer, run: string, rows: readonly Row[]): Promise<Found[]> => {
    const ids = [...new Set(rows.map(({ rule_id }) => rule_id))]
    const { known, shownIds } = await store.read(async em => ({
      known: await rules.loadScopes(ids, em),
      shownIds: await rules.shownIds(ids, em)
    }))
    const refused: RefusedRow[] = []
    const found = rows.flatMap(row => {
      const rule = known.get(row.rule_id)
      if (rule && rule.clientId !== clientId)
        refused.push({ report: 'connections', reason: 'rule', rule: row.rule_id })
      if (rule?.clientId !== clientId) return []
      const owned = { clientId, run, owner: rule.owner, ruleId: shownIds.get(row.rule_id) ?? row.rule_id }
      return [
        {
          key: row.key,
          clientId,
          id: row.id,
          row: shown(row, owned, clock.now())
        }
      ]
    })
    logRefused(clientId, refused)
    return found
  }
}

/** Returns what asks one client for rows. */
export function openLook(services: Services) {
  const rowsOf = openShown(services)

  /** Returns the first rows behind a position, at most `maxRows`, and the sums of all that is selected. Throws Refused. */
  async function page(peer: Peer, { selection, sort, take, after }: Wanted): Promise<Page> {
    const behind = after && startOn(peer.clientId, after)
    const asked = {
      ...{ selection, sort, limit: Math.min(maxRows, take) },
      ...(behind && { after_key: behind.key, after_id: behind.id })
    }
    const { run, rows, ...sums } = await peer.request(Look, asked, { deadlineMs })
    const last = rows.length < asked.limit ? undefined : rows.at(-1)
    return {
      ...sums,
      found: await rowsOf(peer, run, rows),
      next: last ? { clientId: peer.clientId, key: last.key, id: last.id } : null
    }
  }

  /** Returns the first rows behind a position, in as many messages as they need; fewer if the client does not answer. */
  async function rows(peer: Peer, { take, ...wanted }: Wanted): Promise<Found[]> {
    const all: Found[] = []
    try {
      for (
        let after: Position | null | undefined = wanted.after;
        after !== undefined && all.length < take;
      ) {
        const { found, next } = await page(peer, { ...wanted, after, take: take - all.length })
        all.push(...found)
        after = next ?? undefined
      }
    } catch (error) {
      notAnswered(peer, error)
    }
    return all
  }

  /** Logs a refusal, and rethrows any other error. */
  function notAnswered({ clientId }: Peer, error: unknown): void {
    if (!(error instanceof Refused)) throw error
    services.log.debug('connections.no_answer', error.message, { client: clientId })
  }

  return { page, rows, notAnswered }
}

/** Of rows with one key, those of clients with a smaller id come later. */
function startOn(clientId: string, { key, clientId: last, id }: Position): { key: number; id: number } {
  if (clientId === last) return { key, id }
  return { key, id: clientId < last ? Number.MAX_SAFE_INTEGER : 0 }
}

interface Owned extends Pick<ConnectionRow, 'owner'> {
  readonly clientId: string
  readonly run: string
  readonly ruleId: string // of the whole, for a part
}

const shown = (row: Row, { clientId, run, owner, ruleId }: Owned, now: number): ConnectionRow => ({
  connection_id: `${clientId}-${run}-${row.id.toString(36)}`,
  client_id: clientId,
  rule_id: ruleId,
  owner,
  protocol: row.protocol,
  source: row.source,
  listen: row.listen,
  target: row.target === '' ? null : row.target,
  opened_at: timestamp(Math.max(0, now - row.age_ms)),
  bytes_in: row.bytes_in,
  bytes_out: row.bytes_out,
  idle_secs: row.idle_ms / 1000,
  rtt_ms: legsOf(row, 'rtt_ms'),
  retransmits: legsOf(row, 'retransmits'),
  held_by: row.held_by === '' ? null : row.held_by
})

const legsOf = ({ caller, server }: Row, name: 'rtt_ms' | 'retransmits') =>
  caller || server ? { caller: caller?.[name] ?? null, target: server?.[name] ?? null } : null
