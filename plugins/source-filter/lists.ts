// Named lists of addresses and prefixes that rules share. Agents receive the entries with the rules that name them.
import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import { defineCode, Fault, limitReached } from '../../kernel/base/errors.ts'
import type { Call, Resource } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { derivedField, fieldUnsupported, type Rules } from '../rules/exports.ts'
import { SourceFilter, SourceList } from './entities.ts'
import { isListName, normalizeEntries, requireListName } from './entries.ts'
import { capability } from './fields.ts'
import { pack, unpack } from './packed-prefixes.ts'
import type { ListBody, ListRecord, ListRow } from './schema.ts'
import { listsKey, maxPackedBytes, Lists as Packed } from './wire.ts'

export const listNotFound = defineCode('source_list_not_found', 404, 8)
export const listInUse = defineCode('source_list_in_use', 409, 2)

export interface Services extends Kernel {
  readonly rules: Rules
}

export interface Lists {
  /** Creates or replaces the list. Rules that name it change as soon as their clients receive it. */
  set(name: string, body: ListBody, call: Pick<Call, 'change'>): Promise<ListRecord>
  /** Throws `source_list_in_use` while a rule names the list. */
  remove(name: string, call: Pick<Call, 'change'>): Promise<void>
  list(): Promise<ListRow[]>
  read(name: string): Promise<ListRecord>
}

/** Returns the lists that the entries name, by '@name'. */
export async function listsNamed(
  entries: readonly string[],
  em: EntityManager
): Promise<ReadonlyMap<string, SourceList>> {
  const names = [...new Set(entries.filter(isListName))].map(entry => entry.slice(1))
  if (names.length === 0) return new Map()
  const lists = await em.find(SourceList, { name: { $in: names } })
  return new Map(lists.map(list => [`@${list.name}`, list]))
}

/** Throws `limit_reached` if the lists that a rule names do not fit into one message. */
export async function requireRoom(entries: readonly string[], em: EntityManager): Promise<void> {
  const named = await listsNamed(entries, em)
  requireBytes(entries.reduce((sum, entry) => sum + (named.get(entry)?.bytes ?? 0), 0))
}

function requireBytes(bytes: number): void {
  if (bytes <= maxPackedBytes) return
  const text = `the lists of a rule have room for ${maxPackedBytes} bytes together, got ${bytes}; an entry takes one byte plus the bytes that its length covers: 4 for 192.0.2.0/24, 7 for 2001:db8:1::/48`
  throw new Fault(limitReached, text, { details: { limit: maxPackedBytes } })
}

export const packedBytes = ({ packed }: Pick<SourceList, 'packed'>): Uint8Array =>
  Buffer.from(packed, 'base64')

/** Sends agents the entries of the lists that a rule names. */
export const derived = derivedField({
  key: listsKey,
  requires: { capability, refusal: fieldUnsupported },
  message: Packed,
  async derive(rules, em) {
    const rows = await em.find(SourceFilter, { rule: { $in: rules.map(({ id }) => id) } })
    const lists = await listsNamed(rows.flatMap(entriesIn), em)
    const packLists = (entries: readonly string[] | null | undefined): Uint8Array =>
      Buffer.concat((entries ?? []).flatMap(entry => bytesIn(lists.get(entry))))
    const naming = rows.filter(row => entriesIn(row).some(isListName))
    return new Map(
      naming.map(({ rule, allow, deny }) => [rule, { allow: packLists(allow), deny: packLists(deny) }])
    )
  }
})

const bytesIn = (list: SourceList | undefined): Uint8Array[] => (list ? [packedBytes(list)] : [])
const entriesIn = ({ allow, deny }: SourceFilter): string[] => [...(allow ?? []), ...(deny ?? [])]

export function openLists({ store, clock, rules }: Services): Lists {
  const findUses = async (name: string, em: EntityManager): Promise<SourceFilter[]> =>
    (await em.find(SourceFilter, {})).filter(row => entriesIn(row).includes(`@${name}`))

  async function set(
    name: string,
    { entries: given }: ListBody,
    { change }: Pick<Call, 'change'>
  ): Promise<ListRecord> {
    requireListName(name)
    const entries = normalizeEntries(given, '/entries', 'no lists')
    const packed = pack(entries)
    requireBytes(packed.length) // no rule could name a larger list
    const { list, uses, wake } = await change(listResource(name), async em => {
      const list: SourceList = {
        name,
        packed: Buffer.from(packed).toString('base64'),
        bytes: packed.length,
        entryCount: entries.length,
        updatedAt: clock.now()
      }
      await em.upsert(SourceList, list)
      const uses = await findUses(name, em)
      for (const row of uses) await requireRoom(entriesIn(row), em)
      return { list, uses, wake: await rules.refresh({ id: { $in: uses.map(({ rule }) => rule) } }, em) }
    })
    wake()
    return { ...toRow(list, uses), entries }
  }

  const remove = (name: string, { change }: Pick<Call, 'change'>): Promise<void> =>
    change(listResource(name), async em => {
      const [use] = await findUses(name, em)
      if (use)
        throw new Fault(listInUse, `rule ${use.rule} names @${name}; take it out of the rules first`, {
          details: { rule_id: use.rule }
        })
      await find(name, em)
      await em.nativeDelete(SourceList, { name })
    })

  const list = (): Promise<ListRow[]> =>
    store.read(async em => {
      const uses = await em.find(SourceFilter, {})
      const lists = await em.find(SourceList, {}, { orderBy: { name: 'asc' } })
      return lists.map(list => toRow(list, uses))
    })

  const read = (name: string): Promise<ListRecord> =>
    store.read(async em => {
      const list = await find(name, em)
      const uses = await findUses(name, em)
      return { ...toRow(list, uses), entries: unpack(packedBytes(list)) }
    })

  return { set, remove, list, read }
}

async function find(name: string, em: EntityManager): Promise<SourceList> {
  const found = await em.findOne(SourceList, { name })
  if (!found) throw new Fault(listNotFound, `there is no list ${name}`)
  return found
}

export const listResource = (name: string): Resource => ({
  kind: 'source_list',
  id: name,
  async version(em) {
    const found = await em.findOne(SourceList, { name })
    return found && [found.packed, found.updatedAt]
  }
})

const toRow = ({ name, entryCount, updatedAt }: SourceList, uses: readonly SourceFilter[]): ListRow => ({
  name,
  entry_count: entryCount,
  rule_count: uses.filter(row => entriesIn(row).includes(`@${name}`)).length,
  updated_at: timestamp(updatedAt)
})
