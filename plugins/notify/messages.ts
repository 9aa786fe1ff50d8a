// Groups events of one kind into messages, and reads messages for those who may see them.
import type { EntityManager } from '@mikro-orm/sql'
import { type Clock, earliest } from '../../kernel/base/clock.ts'
import { newId } from '../../kernel/platform/id.ts'
import { NotifyDelivery, NotifyMessage, NotifyPart } from './entities.ts'
import { maxNames } from './schema.ts'
import { whenAhead, whenDue } from './stored-times.ts'

const groupMs = 30_000
const stormGroupMs = 90_000 // of a kind with many messages: at most 50 an hour
const stormMessages = 10 // in the last hour
const hourMs = 3_600_000
const dayMs = 24 * hourMs
const keepMs = 30 * dayMs
export const maxMessages = 10_000
export const maxOfOwner = 1_000 // that are about one owner alone
const rowsPerChange = 500

/** No owner. A part needs a value in its key. */
const nobody = ''

interface Event {
  readonly kind: string
  readonly name: string
  readonly owner: string | null
}

/** A message as one reader sees it. */
export interface Content {
  readonly id: string
  readonly kind: string
  readonly at: number
  readonly count: number
  readonly names: readonly string[]
}

/** A user sees the parts about what is their own; 'all': those who see everything. */
export type Reader = { readonly user: string } | 'all'

export interface Messages {
  /** Adds an event to the open message of its kind, or opens one. */
  add(event: Event, em: EntityManager): Promise<void>
  /** Returns open messages that are to be closed, oldest first. */
  findDue(em: EntityManager): Promise<NotifyMessage[]>
  close(message: NotifyMessage, em: EntityManager): Promise<void>
  /** Returns what the reader sees of the messages, by id. Messages without a part for the reader are absent. */
  load(messages: readonly NotifyMessage[], reader: Reader, em: EntityManager): Promise<Map<string, Content>>
  /** Deletes messages beyond their retention. Returns true if there may be more. */
  prune(em: EntityManager): Promise<boolean>
}

export function openMessages({ clock }: { readonly clock: Clock }): Messages {
  async function openFor({ kind, owner }: Event, em: EntityManager): Promise<NotifyMessage> {
    const now = clock.now()
    const open = await em.findOne(NotifyMessage, { kind, closesAt: whenAhead(now, stormGroupMs) })
    if (open) {
      if ((open.owner ?? null) === owner || open.owner == null) return open
      await em.nativeUpdate(NotifyMessage, { id: open.id }, { owner: null })
      return open
    }
    const recent = await em.count(NotifyMessage, { kind, at: { $gt: now - hourMs, $lte: now } })
    const closesAt = now + (recent >= stormMessages ? stormGroupMs : groupMs)
    const message = { id: newId(now), kind, at: now, closesAt, owner }
    await em.insert(NotifyMessage, message)
    return message
  }

  async function add(event: Event, em: EntityManager): Promise<void> {
    const { id } = await openFor(event, em)
    const key = { message: id, owner: event.owner ?? nobody }
    const part = await em.findOne(NotifyPart, key)
    if (!part) return void (await em.insert(NotifyPart, { ...key, count: 1, names: [event.name] }))
    const names = part.names.length < maxNames ? [...part.names, event.name] : part.names
    await em.nativeUpdate(NotifyPart, key, { count: part.count + 1, names })
  }

  return {
    add,
    findDue: em => {
      const where = { $or: whenDue(clock.now(), stormGroupMs).map(closesAt => ({ closesAt })) }
      return em.find(NotifyMessage, where, { orderBy: { id: 'asc' }, limit: rowsPerChange })
    },
    async close({ id }, em) {
      await em.nativeUpdate(NotifyMessage, { id }, { closesAt: null })
    },
    load: loadContents,
    prune: em => prune(earliest(clock), em)
  }
}

async function loadContents(
  messages: readonly NotifyMessage[],
  reader: Reader,
  em: EntityManager
): Promise<Map<string, Content>> {
  const some = reader === 'all' ? {} : { owner: reader.user }
  const where = { message: { $in: messages.map(({ id }) => id) }, ...some }
  const rows = await em.find(NotifyPart, where, { orderBy: { message: 'asc', owner: 'asc' } })
  const parts = Map.groupBy(rows, ({ message }) => message)
  return new Map(
    messages.flatMap(({ id, kind, at }) => {
      const own = parts.get(id)
      if (!own) return []
      const count = own.reduce((sum, part) => sum + part.count, 0)
      return [[id, { id, kind, at, count, names: pickNames(own.map(({ names }) => names)) }]]
    })
  )
}

/** Takes names of all owners in turn, so that none of them displaces those of others. */
export function pickNames(lists: readonly (readonly string[])[]): string[] {
  const picked: string[] = []
  for (let at = 0; at < maxNames; at++)
    for (const list of lists) {
      const name = list[at]
      if (name !== undefined && picked.length < maxNames) picked.push(name)
    }
  return picked
}

/** Deletes old messages; then those of owners with too many; then the oldest of too many. */
async function prune(now: number, em: EntityManager): Promise<boolean> {
  const old = await em.find(
    NotifyMessage,
    { at: { $lt: now - keepMs } },
    { fields: ['id'], limit: rowsPerChange, orderBy: { id: 'asc' } }
  )
  const owners = await em.execute<{ owner: string; count: number | string }[]>(
    `select owner, count(*) as count from notify_message where owner is not null
     group by owner having count(*) > ${maxOfOwner}`
  )
  const beyond: { id: string }[] = [...old]
  for (const { owner, count } of owners)
    beyond.push(...(await oldest({ owner }, Number(count) - maxOfOwner, em)))
  const total = (await em.count(NotifyMessage)) - new Set(beyond.map(({ id }) => id)).size
  if (total > maxMessages) beyond.push(...(await oldest({}, total - maxMessages, em)))
  const ids = [...new Set(beyond.map(({ id }) => id))].slice(0, rowsPerChange)
  const where = { message: { $in: ids } }
  await em.nativeDelete(NotifyDelivery, where)
  await em.nativeDelete(NotifyPart, where)
  await em.nativeDelete(NotifyMessage, { id: { $in: ids } })
  return ids.length === rowsPerChange
}

const oldest = (where: object, take: number, em: EntityManager): Promise<{ id: string }[]> =>
  em.find(NotifyMessage, where, {
    fields: ['id'],
    orderBy: { id: 'asc' },
    limit: Math.min(take, rowsPerChange)
  })
