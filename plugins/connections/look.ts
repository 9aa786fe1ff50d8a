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

/** Where a page continues: the key and id of the last row of the page before, with its client. */
export interface Position {
  readonly key: number
  readonly clientId: string
  readonly id: number
}

interface Found extends Position {
  readonly row: ConnectionRow
}

/** The order of a list: the largest key first. */
export const descending = (a: Position, b: Position): number =>
  b.key - a.key || (a.clientId < b.clientId ? 1 : a.clientId > b.clientId ? -1 : b.id - a.id)

interface Wanted {
  readonly selection: Selection
  readonly sort: Sort
  readonly take: number
  readonly after: Position | null
}

/** Returns the function that asks one client for the first rows behind a position, in as many messages as they need. */
export function openLook({ store, clock, log, rules }: Services) {
  const logRefused = openRefusedRows({ clock, log })

  /** The owner of a rule is what the server knows. What is not the client's is left out. */
  async function rowsOf(peer: Peer, run: string, rows: readonly Row[]): Promise<Found[]> {
    const { clientId } = peer
    const ids = [...new Set(rows.map(({ rule_id }) => rule_id))]
    const { known, shownIds } = await store.read(async em => ({
      known: await rules.ownershipOf(ids, em),
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

  return async (peer: Peer, { selection, sort, take, after }: Wanted): Promise<Found[]> => {
    const found: Found[] = []
    let position = after && startOn(peer.clientId, after)
    try {
      while (found.length < take) {
        const limit = Math.min(maxRows, take - found.length)
        const behind = position && { after_key: position.key, after_id: position.id }
        const { run, rows } = await peer.request(Look, { selection, sort, limit, ...behind }, { deadlineMs })
        found.push(...(await rowsOf(peer, run, rows)))
        const last = rows.at(-1)
        if (!last || rows.length < limit) break
        position = { key: last.key, id: last.id }
      }
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      log.debug('connections.no_answer', error.message, { client: peer.clientId })
    }
    return found
  }
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
