// Links as the API shows and changes them.
import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import { Fault } from '../../kernel/base/errors.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Call, FieldChange, Resource } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import {
  listChanges,
  listFilterSlots,
  listFilters,
  type PagedRows,
  recordFields,
  seesAll
} from '../http/exports.ts'
import { linkNotFound } from './codes.ts'
import { parseHosts } from './endpoint.ts'
import { LinkRow } from './entities.ts'
import { listenerSide, loadParties } from './link-object.ts'
import { clientIdsOf } from './link-queries.ts'
import type { LinkRows } from './link-rows.ts'
import { fieldsIn, type LinkFilter, type LinkRecord, parseNote, type SettingsBody } from './schema.ts'
import type { LinkReports } from './state/link-reports.ts'
import type { LinkStates } from './state/link-states.ts'
import type { LinkStatus } from './wire.ts'

export interface Links {
  /** Lists the links that the caller may see. */
  list(filter: LinkFilter, principal: Principal): PagedRows<LinkRecord>
  /** Throws `link_not_found`, also for a link that the caller must not see. */
  read(id: string, principal: Principal): Promise<LinkRecord>
  /** Changes settings. A link with default settings that no rule needs is removed. */
  change(id: string, body: SettingsBody, call: Pick<Call, 'change' | 'principal'>): Promise<LinkRecord>
}

interface Services extends Pick<Kernel, 'store' | 'clock' | 'filled'> {
  readonly linkRows: Pick<LinkRows, 'send' | 'release'>
  readonly linkReports: Pick<LinkReports, 'of'>
  readonly linkStates: Pick<LinkStates, 'judge'>
}

/** The version covers the settings, not the state. */
export const linkResource = (id: string, filled: SlotReader): Resource => ({
  kind: 'link',
  id,
  async version(em) {
    const link = await em.findOne(LinkRow, { id })
    return link && [id, ...Object.values(await settingsOf(link, filled, em))]
  }
})

export function openLinks(services: Services): Links {
  const { store, clock, filled, linkRows } = services

  const list = ({ client, state, ...more }: LinkFilter, principal: Principal): PagedRows<LinkRecord> => ({
    async page(after, take, em) {
      const conditions = [
        { id: { $gt: after } },
        ...(state === undefined ? [] : [{ state: state as LinkRow['state'] }]),
        ...(client === undefined ? [] : [await ofClient(client, em)]),
        listFilters.where(filled(listFilterSlots.link), more)
      ]
      const visible = seesAll(principal) ? null : await idsOfOwner(principal.userId, after, em)
      const where = { $and: [...conditions, ...(visible ? [{ id: { $in: visible } }] : [])] }
      const links = await em.find(LinkRow, where, { orderBy: { id: 'asc' }, limit: take })
      const rows = await toRecords(services, links, principal, em)
      return rows.map(row => ({ key: row.link_id, row }))
    }
  })

  const read = (id: string, principal: Principal): Promise<LinkRecord> =>
    store.read(async em => {
      const link = await findVisible(id, principal, em)
      return toRecord(services, link, principal, em)
    })

  async function change(
    id: string,
    { direction, hosts, udp, note, ...fields }: SettingsBody,
    { change: run, principal }: Pick<Call, 'change' | 'principal'>
  ): Promise<LinkRecord> {
    const given = {
      ...(direction !== undefined && { direction: direction as LinkRow['direction'] }),
      ...(hosts !== undefined && { hosts: hosts && parseHosts(hosts, '/hosts') }),
      ...(udp !== undefined && { udpWanted: udp }),
      ...(note !== undefined && { note: parseNote(note) })
    }
    let changes: readonly FieldChange[] = []
    const resource = { ...linkResource(id, filled), changes: () => changes }
    const record = await run(resource, async em => {
      const link = await find(id, em)
      const before = await settingsOf(link, filled, em)
      const next: LinkRow = { ...link, ...given, updatedAt: clock.now() }
      await em.nativeUpdate(LinkRow, { id }, { ...given, updatedAt: next.updatedAt })
      await recordFields.patch(fieldsIn(filled), id, { body: fields, em })
      changes = listChanges(before, await settingsOf(next, filled, em))
      const record = await toRecord(services, next, principal, em)
      if (direction !== undefined || hosts !== undefined) await linkRows.send([next], em)
      await linkRows.release([id], em)
      return record
    })
    return record
  }

  return { list, read, change }
}

async function find(id: string, em: EntityManager): Promise<LinkRow> {
  return (await em.findOne(LinkRow, { id })) ?? refuseUnknown()
}

async function findVisible(id: string, principal: Principal, em: EntityManager): Promise<LinkRow> {
  const link = await find(id, em)
  if (seesAll(principal)) return link
  const [use] = await em.execute<{ id: string }[]>(
    `select rules.id from links_use join rules on rules.id = rule_id
     where link_id = ? and rules.owner = ? limit 1`,
    [id, principal.userId]
  )
  return use ? link : refuseUnknown()
}

function refuseUnknown(): never {
  throw new Fault(linkNotFound, 'no link has this link_id')
}

const idsPerPage = 1000

/** Returns the ids of the first links after `after` that rules of the owner need. */
async function idsOfOwner(owner: string, after: string, em: EntityManager): Promise<string[]> {
  const rows = await em.execute<{ id: string }[]>(
    `select distinct link_id as id from links_use join rules on rules.id = rule_id
     where rules.owner = ? and link_id > ? order by link_id limit ?`,
    [owner, after, idsPerPage]
  )
  return rows.map(({ id }) => id)
}

/** Returns a condition for the links of clients with this id or name. */
async function ofClient(client: string, em: EntityManager) {
  const ids = { $in: await clientIdsOf(client, em) }
  return { $or: [{ nearId: ids }, { farId: ids }] }
}

type Settings = Readonly<Record<string, unknown>>

const settingsOf = async (
  { id, direction, hosts, udpWanted, note }: LinkRow,
  filled: SlotReader,
  em: EntityManager
): Promise<Settings> => ({
  direction,
  hosts: hosts ?? null,
  udp: udpWanted,
  note: note ?? null,
  ...(await recordFields.load(fieldsIn(filled), [id], em))(id)
})

async function toRecord(
  services: Services,
  link: LinkRow,
  principal: Principal,
  em: EntityManager
): Promise<LinkRecord> {
  const [record] = await toRecords(services, [link], principal, em)
  if (!record) throw new TypeError(`link ${link.id} has no record`)
  return record
}

async function toRecords(
  { filled, linkReports }: Services,
  links: readonly LinkRow[],
  principal: Principal,
  em: EntityManager
): Promise<LinkRecord[]> {
  const ids = links.map(({ id }) => id)
  const isFull = seesAll(principal)
  const parties = await loadParties(links, em)
  const counts = await countRules(ids, isFull ? null : principal.userId, em)
  const fields = await recordFields.show(fieldsIn(filled), ids, { principal, em })
  return links.map(link => {
    const { id, nearId, farId, hosts, stateSince, updatedAt } = link
    const { near, far } = linkReports.of(link)
    const figures = near ?? far
    const listener = listenerOf({ near, far }) ?? listenerSide(link, parties) ?? 'near'
    const party = (clientId: string, side: 'near' | 'far') => ({
      client_id: clientId,
      client_name: parties.clients.get(clientId)?.name ?? '',
      role: side === listener ? ('listener' as const) : ('dialer' as const)
    })
    return {
      link_id: id,
      clients: [party(nearId, 'near'), party(farId, 'far')],
      direction: link.direction,
      hosts: isFull && hosts ? [...hosts] : null,
      udp_wanted: link.udpWanted,
      state: link.state,
      state_reason: link.stateReason ?? null,
      since: timestamp(stateSince),
      rtt_ms: rttOf(near) ?? rttOf(far),
      loss_percent: near?.loss_percent ?? far?.loss_percent ?? null,
      udp: 'off' as const,
      connections: { open: figures?.open ?? 0, idle: figures?.idle ?? 0 },
      bytes_in: figures?.bytes_in ?? 0,
      bytes_out: figures?.bytes_out ?? 0,
      rules: counts.get(id) ?? 0,
      encryption: 'tls' as const,
      note: link.note ?? null,
      updated_at: timestamp(updatedAt),
      ...fields(id)
    }
  })
}

type Ends = Readonly<Record<'near' | 'far', LinkStatus | undefined>>

/** Returns the side that listens, as the agents say; null if neither does. */
function listenerOf({ near, far }: Ends): 'near' | 'far' | null {
  if (near?.role !== undefined) return near.role === 'listener' ? 'near' : 'far'
  if (far?.role !== undefined) return far.role === 'listener' ? 'far' : 'near'
  return null
}

function rttOf(status: LinkStatus | undefined): LinkRecord['rtt_ms'] {
  const { rtt_last_ms: last, rtt_p50_ms: p50, rtt_p99_ms: p99 } = status ?? {}
  return last === undefined ? null : { last, p50: p50 ?? last, p99: p99 ?? last }
}

/** Counts the rules that need each link; members of a group rule count as one. */
async function countRules(
  ids: readonly string[],
  owner: string | null,
  em: EntityManager
): Promise<ReadonlyMap<string, number>> {
  if (ids.length === 0) return new Map()
  const rows = await em.execute<{ id: string; rules: number }[]>(
    `select link_id as id, count(distinct coalesce(rules.parent, rules.id)) as rules
     from links_use join rules on rules.id = rule_id
     where link_id in (${ids.map(() => '?')}) ${owner === null ? '' : 'and rules.owner = ?'} group by link_id`,
    [...ids, ...(owner === null ? [] : [owner])]
  )
  return new Map(rows.map(({ id, rules }) => [id, Number(rules)]))
}
